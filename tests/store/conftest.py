import asyncio

import pytest
from tests.registry_fixture import StoreFactory, office, places, runner, store_factory
from tests.store.material import Desk
from tests.store.unreliable import unreliable

__all__ = ["desk", "office", "places", "runner", "store_factory", "unreliable"]


@pytest.fixture
def desk(runner: asyncio.Runner, store_factory: StoreFactory) -> Desk:
    """An empty store."""
    return Desk(runner, store_factory())
