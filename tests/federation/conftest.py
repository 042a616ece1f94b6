from tests.registry_fixture import locations, office, runner, store_factory

__all__ = ["locations", "office", "runner", "store_factory"]
