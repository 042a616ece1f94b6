import asyncio

import pytest
from tests.registry_fixture import StoreFactory, office, runner, store_factory
from tests.store.material import Desk

__all__ = ["desk", "office", "runner", "store_factory"]


@pytest.fixture
def desk(runner: asyncio.Runner, store_factory: StoreFactory) -> Desk:
    """An empty store."""
    return Desk(runner, store_factory())
