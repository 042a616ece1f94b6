"""Pools of a remote registry."""

from collections.abc import Sequence

import msgspec

from perdure.cli.remote.remote_registry import RemoteRegistry, path_to
from perdure.registry.entities import Agent, Pool, PoolPolicy


class _Pools(msgspec.Struct):
    pools: tuple[Pool, ...]


async def list_pools(remote: RemoteRegistry) -> list[Pool]:
    return list(remote.get("/pools", _Pools).pools)


async def find_pool(remote: RemoteRegistry, name: str) -> Pool:
    return remote.get(path_to("pools", name), Pool)


async def add_pool(
    remote: RemoteRegistry, by: Agent, name: str, members: Sequence[str], *, policy: PoolPolicy = "least-waiting"
) -> Pool:
    body = {"name": name, "members": list(members), "policy": policy}
    return remote.decode(remote.send("POST", "/pools", body), Pool)


async def change_pool(
    remote: RemoteRegistry,
    by: Agent,
    name: str,
    *,
    members: Sequence[str] | None = None,
    policy: PoolPolicy | None = None,
    expected: str | None = None,
) -> Pool:
    given = {"members": members, "policy": policy}
    body = {field: value for field, value in given.items() if value is not None}
    return remote.change("PATCH", path_to("pools", name), Pool, body, expected=expected)


async def remove_pool(remote: RemoteRegistry, by: Agent, name: str, *, expected: str | None = None) -> Pool:
    return remote.change("DELETE", path_to("pools", name), Pool, expected=expected)
