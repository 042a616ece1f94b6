from tests.registry_fixture import office, runner, store_factory

__all__ = ["office", "runner", "store_factory"]
