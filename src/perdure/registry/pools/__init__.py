"""Pools: the spatial distributor of IBI. A pool of subsystems has a policy, which chooses one for each request."""

from perdure.registry.pools.pools import add_pool, change_pool, find_pool, list_pools, remove_pool

__all__ = ["add_pool", "change_pool", "find_pool", "list_pools", "remove_pool"]
