from tests.registry_fixture import office, places, runner, store_factory

__all__ = ["office", "places", "runner", "store_factory"]
