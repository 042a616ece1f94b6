import asyncio

import pytest
from tests.registry_fixture import StoreFactory, locations, office, runner, store_factory
from tests.store.record_strategies import Desk
from tests.store.unreliable_network import unreliable

__all__ = ["desk", "locations", "office", "runner", "store_factory", "unreliable"]


@pytest.fixture
def desk(runner: asyncio.Runner, store_factory: StoreFactory) -> Desk:
    """Return an empty store."""
    return Desk(runner, store_factory())
