"""Prefixes, and who is asking."""

from fractions import Fraction
from typing import Any

from litestar import Response, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.params import JSONBody

from perdure import registry as use
from perdure.errors import InvalidInput
from perdure.http.v1.asking import (
    KEY,
    KEY_OR_NOBODY,
    ROOT,
    FromDoor,
    IfMatch,
    Name,
    etag,
    expecting_tag,
    problems,
    read_name,
)
from perdure.http.v1.bodies import DerivedPrefix, NewPrefix, PrefixChange
from perdure.http.v1.identifiers import IfNoneMatch, matches
from perdure.http.v1.showing import shown_agent, shown_prefix
from perdure.http.v1.told import ShownAgent, ShownPrefix, ShownPrefixes
from perdure.names import handle
from perdure.registry.entities import Prefix
from perdure.registry.naming import known_prefix
from perdure.registry.prefix_digest import settings_digest

_PLACE = ResponseHeader(name="Location", documentation_only=True, description="Where the prefix is shown.")
_ETAG = ResponseHeader(name="ETag", documentation_only=True, description="A digest of its settings, for If-Match.")


@get(
    "/prefixes",
    operation_id="prefixes",
    tags=["prefixes"],
    summary="List prefixes",
    security=KEY_OR_NOBODY,
    responses=problems(),
    response_description="All prefixes.",
)
async def list_prefixes(asking: FromDoor) -> Response[ShownPrefixes]:
    """All prefixes that this registry keeps, with what is promised about them."""
    kept = await asking.registry.store.read(lambda reader: reader.prefixes())
    return Response(ShownPrefixes(prefixes=tuple(shown_prefix(one) for one in kept)))


@get(
    "/prefixes/{name:str}",
    operation_id="prefix",
    tags=["prefixes"],
    summary="Show a prefix",
    security=KEY_OR_NOBODY,
    responses=problems(304, 404),
    response_description="The prefix.",
    response_headers=[_ETAG],
)
async def show_prefix(asking: FromDoor, name: Name, if_none_match: IfNoneMatch = None) -> Response[ShownPrefix]:
    """How names under a prefix are made and compared, and what is promised about them."""
    text = read_name(name)
    prefix = await asking.registry.store.read(lambda reader: known_prefix(reader, text))
    tag = etag(settings_digest(prefix))
    if if_none_match is not None and matches(if_none_match, tag):
        nothing: Response[Any] = Response(None, status_code=304, headers={"etag": tag})
        return nothing
    return _told(prefix)


@post(
    "/prefixes",
    operation_id="addPrefix",
    tags=["prefixes"],
    summary="Keep a prefix",
    security=KEY,
    responses=problems(409, 413, 415),
    response_description="It is kept here now.",
    response_headers=[_PLACE, _ETAG],
)
async def add_prefix(asking: FromDoor, data: JSONBody[NewPrefix]) -> Response[ShownPrefix]:
    """Keep a Handle prefix, or an IBI subsystem. This needs a grant to administer the whole registry."""
    if (data.host is None) != (data.ip is None) or (data.host is None) == (data.prefix is None):
        raise InvalidInput("prefix", "prefix", "give a Handle prefix, or host and ip of an IBI subsystem")
    if data.host is not None and data.ip is not None:
        if data.minter is not None or data.pattern is not None or data.pass_through:
            raise InvalidInput("prefix", "minter", "minter, pattern and pass_through are for a Handle prefix")
        made = await use.add_subsystem(
            asking.registry,
            asking.agent,
            data.host,
            data.ip,
            port=data.port,
            ip_port=data.ip_port,
            granularity=1 if data.granularity is None else _step(data.granularity),
            private=data.private,
            policy=data.policy,
        )
        return _kept(made)
    if data.granularity is not None or data.private:
        raise InvalidInput("prefix", "granularity", "granularity and private are for an IBI subsystem (host and ip)")
    made = await use.add_prefix(
        asking.registry,
        asking.agent,
        data.prefix or "",
        minter=data.minter or "pilin",
        case_sensitive=data.case_sensitive,
        policy=data.policy,
        pattern=data.pattern,
        pass_through=data.pass_through,
    )
    return _kept(made)


@post(
    "/derived-prefixes",
    operation_id="derivePrefix",
    tags=["prefixes"],
    summary="Derive a prefix",
    security=KEY,
    responses=problems(404, 409, 413, 415),
    response_description="It is kept here now.",
    response_headers=[_PLACE, _ETAG],
)
async def derive_prefix(asking: FromDoor, data: JSONBody[DerivedPrefix]) -> Response[ShownPrefix]:
    """Keep a prefix below another, with authority over that one; whoever derives it administers it."""
    made = await use.derive_prefix(
        asking.registry,
        asking.agent,
        data.prefix,
        minter=data.minter,
        case_sensitive=data.case_sensitive,
        policy=data.policy,
        pattern=data.pattern,
        pass_through=data.pass_through,
    )
    return _kept(made)


@patch(
    "/prefixes/{name:str}",
    operation_id="changePrefix",
    tags=["prefixes"],
    summary="Change a prefix",
    security=KEY,
    responses=problems(404, 412, 413, 415, 428),
    response_description="The prefix as it is now.",
    response_headers=[_ETAG],
)
async def change_prefix(
    asking: FromDoor, name: Name, data: JSONBody[PrefixChange], if_match: IfMatch = None
) -> Response[ShownPrefix]:
    """Change the policy, the granularity, the minter or the pass-through. How names are compared is fixed for life."""
    with expecting_tag(if_match) as expected:
        changed = await use.change_prefix(
            asking.registry,
            asking.agent,
            read_name(name),
            policy=data.policy,
            granularity=None if data.granularity is None else _step(data.granularity),
            minter=data.minter,
            pattern=data.pattern,
            pass_through=data.pass_through,
            expected=expected,
        )
    return _told(changed)


@get(
    "/agents/me",
    operation_id="me",
    tags=["agents"],
    summary="Who am I?",
    security=KEY,
    responses=problems(),
    response_description="You.",
)
async def me(asking: FromDoor) -> Response[ShownAgent]:
    """Whose credentials these are, and what they allow."""
    agent = asking.agent
    grants = await asking.registry.store.read(lambda reader: reader.grants(agent.id))
    return Response(shown_agent(agent, grants), headers={"cache-control": "no-store"})


def _told(prefix: Prefix, status: int = 200, headers: dict[str, str] | None = None) -> Response[ShownPrefix]:
    tagged = {"etag": etag(settings_digest(prefix)), **(headers or {})}
    return Response(shown_prefix(prefix), status_code=status, headers=tagged)


def _kept(prefix: Prefix) -> Response[ShownPrefix]:
    return _told(prefix, 201, {"location": f"{ROOT}/prefixes/{handle.escape(prefix.name)}"})


def _step(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput("prefix", "granularity", "the granularity must be a number of seconds: 60, 1, 0.1") from None
