"""Schemas of pools."""

from typing import Annotated, Final

from msgspec import Meta

from perdure.http.api.schemas.responses import ResponseSchema
from perdure.http.api.schemas.values import RequestSchema
from perdure.registry.entities import PoolPolicy
from perdure.registry.pools.pools import MOST_MEMBERS

PolicyField = Annotated[
    PoolPolicy,
    Meta(
        description="How a subsystem is chosen: least-waiting (the one with the earliest date), round-robin (one after "
        "the other), or hash (of the item's key: one key always leads to the same subsystem)."
    ),
]
Members = Annotated[
    tuple[Annotated[str, Meta(min_length=1)], ...],
    Meta(
        min_length=1,
        max_length=MOST_MEMBERS,
        description="The IBI subsystems of the pool.",
        examples=[["sid.inpe.br/mtc-m18"]],
    ),
]


class AddPoolRequest(RequestSchema, frozen=True, kw_only=True):
    """A new pool of IBI subsystems."""

    name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=64,
            description="The name of the pool: lower-case letters, digits and hyphens.",
            examples=["main"],
        ),
    ]
    members: Members
    policy: PolicyField = "least-waiting"


class ChangePoolRequest(RequestSchema, frozen=True, kw_only=True):
    """The changed settings of a pool. Fields that are not given stay."""

    members: Members | None = None
    policy: PolicyField | None = None


class PoolResponse(ResponseSchema, frozen=True, kw_only=True):
    """A pool of IBI subsystems."""

    name: str
    policy: PolicyField
    members: tuple[str, ...]
    created: str


class PoolListResponse(ResponseSchema, frozen=True, kw_only=True):
    """All pools of this registry."""

    pools: tuple[PoolResponse, ...]


POOL_REQUEST_SCHEMAS: Final[tuple[type[RequestSchema], ...]] = (AddPoolRequest, ChangePoolRequest)
