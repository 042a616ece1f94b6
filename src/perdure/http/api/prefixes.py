"""Endpoints for prefixes."""

from fractions import Fraction
from typing import Any

from litestar import Response, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.params import JSONBody

from perdure import registry as use
from perdure.errors import InvalidInput
from perdure.http.api.identifiers import IfNoneMatch
from perdure.http.api.request_context import (
    CREDENTIALS_OPTIONAL,
    CREDENTIALS_REQUIRED,
    IfMatch,
    InjectedContext,
    Name,
    decode_name,
    error_responses,
)
from perdure.http.api.schemas.requests import AddPrefixRequest, ChangePrefixRequest, DerivePrefixRequest
from perdure.http.api.schemas.responses import PrefixListResponse, PrefixResponse
from perdure.http.api.views import build_prefix
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import digest_etag, expect_etag, if_none_match_has
from perdure.names import handle
from perdure.registry.entities import Prefix
from perdure.registry.name_keys import require_prefix
from perdure.registry.prefixes.prefix_etag import settings_digest

_LOCATION_HEADER = ResponseHeader(name="Location", documentation_only=True, description="The URL of the prefix.")
_ETAG_HEADER = ResponseHeader(
    name="ETag", documentation_only=True, description="A digest of the settings, for If-Match."
)


@get(
    "/prefixes",
    operation_id="prefixes",
    tags=["prefixes"],
    summary="List prefixes",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="All prefixes.",
)
async def list_prefixes(context: InjectedContext) -> Response[PrefixListResponse]:
    """List the prefixes of this registry, with their policies."""
    stored = await context.registry.store.read(lambda reader: reader.prefixes())
    return Response(PrefixListResponse(prefixes=tuple(build_prefix(prefix) for prefix in stored)))


@get(
    "/prefixes/{name:str}",
    operation_id="prefix",
    tags=["prefixes"],
    summary="Show a prefix",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(304, 404),
    response_description="The prefix.",
    response_headers=[_ETAG_HEADER],
)
async def show_prefix(
    context: InjectedContext, name: Name, if_none_match: IfNoneMatch = None
) -> Response[PrefixResponse]:
    """Show a prefix: how names under it are minted and compared, and its policy."""
    text = decode_name(name)
    prefix = await context.registry.store.read(lambda reader: require_prefix(reader, text))
    tag = digest_etag(settings_digest(prefix))
    if if_none_match_has(if_none_match, tag):
        nothing: Response[Any] = Response(None, status_code=304, headers={"etag": tag})
        return nothing
    return _prefix_response(prefix)


@post(
    "/prefixes",
    operation_id="addPrefix",
    tags=["prefixes"],
    summary="Add a prefix",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(409, 413, 415),
    response_description="The new prefix.",
    response_headers=[_LOCATION_HEADER, _ETAG_HEADER],
)
async def add_prefix(context: InjectedContext, data: JSONBody[AddPrefixRequest]) -> Response[PrefixResponse]:
    """Add a Handle prefix or an IBI subsystem. Requires permission to administer the whole registry."""
    is_subsystem = data.host is not None or data.ip is not None
    if is_subsystem == (data.prefix is not None):
        raise InvalidInput("prefix", "prefix", "give a Handle prefix, or the host or ip of an IBI subsystem, or both")
    if is_subsystem:
        if data.minter is not None or data.pattern is not None or data.pass_through or data.joiners:
            raise InvalidInput(
                "prefix", "minter", "minter, pattern, pass_through and joiners are only supported for a Handle prefix"
            )
        prefix = await use.add_subsystem(
            context.registry,
            context.agent,
            data.host,
            data.ip,
            port=data.port,
            ip_port=data.ip_port,
            granularity=1 if data.granularity is None else _parse_granularity(data.granularity),
            private=data.private,
            policy=data.policy,
            ttl=data.ttl,
        )
        return _created_response(prefix)
    if data.granularity is not None or data.private or data.port is not None or data.ip_port is not None:
        reason = "granularity, private, port and ip_port are only supported for an IBI subsystem (host or ip)"
        raise InvalidInput("prefix", "granularity", reason)
    prefix = await use.add_prefix(
        context.registry,
        context.agent,
        data.prefix or "",
        minter=data.minter or "pilin",
        case_sensitive=data.case_sensitive,
        policy=data.policy,
        pattern=data.pattern,
        pass_through=data.pass_through,
        ttl=data.ttl,
        joiners=data.joiners,
    )
    return _created_response(prefix)


@post(
    "/derived-prefixes",
    operation_id="derivePrefix",
    tags=["prefixes"],
    summary="Derive a prefix",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 413, 415),
    response_description="The new prefix.",
    response_headers=[_LOCATION_HEADER, _ETAG_HEADER],
)
async def derive_prefix(context: InjectedContext, data: JSONBody[DerivePrefixRequest]) -> Response[PrefixResponse]:
    """Add a prefix below another. Requires permission on the parent. The caller may administer the new prefix."""
    prefix = await use.derive_prefix(
        context.registry,
        context.agent,
        data.prefix,
        minter=data.minter,
        case_sensitive=data.case_sensitive,
        policy=data.policy,
        pattern=data.pattern,
        pass_through=data.pass_through,
        ttl=data.ttl,
        joiners=data.joiners,
    )
    return _created_response(prefix)


@patch(
    "/prefixes/{name:str}",
    operation_id="changePrefix",
    tags=["prefixes"],
    summary="Change a prefix",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 412, 413, 415, 428),
    response_description="The current state of the prefix.",
    response_headers=[_ETAG_HEADER],
)
async def change_prefix(
    context: InjectedContext, name: Name, data: JSONBody[ChangePrefixRequest], if_match: IfMatch = None
) -> Response[PrefixResponse]:
    """Change the policy, the minter or the pass-through, or the granularity and the address of an IBI subsystem.

    Case sensitivity cannot be changed. Another host or IP address ends the label prefix of the old one and begins
    another, on the same timeline. Labels that were issued stay.
    """
    with expect_etag(if_match) as expected:
        changed = await use.change_prefix(
            context.registry,
            context.agent,
            decode_name(name),
            policy=data.policy,
            granularity=None if data.granularity is None else _parse_granularity(data.granularity),
            minter=data.minter,
            pattern=data.pattern,
            pass_through=data.pass_through,
            ttl=data.ttl,
            joiners=data.joiners,
            address=data.to_address_change(),
            expected=expected,
        )
    return _prefix_response(changed)


def _prefix_response(
    prefix: Prefix, status: int = 200, headers: dict[str, str] | None = None
) -> Response[PrefixResponse]:
    tagged = {"etag": digest_etag(settings_digest(prefix)), **(headers or {})}
    return Response(build_prefix(prefix), status_code=status, headers=tagged)


def _created_response(prefix: Prefix) -> Response[PrefixResponse]:
    return _prefix_response(prefix, 201, {"location": f"{API_ROOT}/prefixes/{handle.escape(prefix.name)}"})


def _parse_granularity(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(
            "prefix", "granularity", "the granularity must be a number of seconds, as in 60, 1 or 0.1"
        ) from None
