"""/api/handles: read, list, create, change and delete records, as Handle clients do it."""

from typing import Final

from perdure.errors import InvalidName, NotAuthorised, Withdrawn
from perdure.http.handle_api.endpoint import allow_methods
from perdure.http.handle_api.name_lists import read_page_request, stream_names
from perdure.http.handle_api.parameters import parse_number
from perdure.http.handle_api.put_body import PutBody, read_put
from perdure.http.handle_api.request_context import HandleContext
from perdure.http.handle_api.response_codes import HANDLE_NOT_FOUND, VALUES_NOT_FOUND
from perdure.http.shared.conditional import expect_record_versions, is_not_modified, record_etag
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.request import Response
from perdure.http.shared.responses import NO_CACHE, SUCCESS, record_response
from perdure.http.shared.value_filter import build_value_filter
from perdure.names import handle
from perdure.names.handle import unescape
from perdure.records.value import to_json_value
from perdure.registry import Agent
from perdure.registry.handles import (
    HandleTombstone,
    delete_handle,
    delete_values,
    iterate_handles,
    list_handles,
    mint_handle,
    put_handle,
    put_values,
    read_handle,
    read_tombstone,
)
from perdure.registry.prefixes.na_names import NA_KEY
from perdure.registry.withdrawal import describe_withdrawal, withdrawal_fields

_READING: Final = frozenset({"GET", "HEAD", "POST"})  # POST reads as GET does, with its parameters in the body
_PREFIX_RECORDS: Final = f"{NA_KEY}/"  # they also contain grants, whose changes make no new version
_VARIOUS: Final = "various"  # the indexes of the values in the body


@allow_methods("GET", "HEAD", "POST", "PUT", "DELETE")
async def handles(context: HandleContext) -> Response | None:
    """Handle a request for the handle that the path names, decoded once. A plus sign is a plus sign."""
    name = unescape(context.request.rest.removeprefix("/"))
    method = context.request.method
    if not name:
        prefix = context.parameters.single("prefix")
        if method in _READING and prefix:
            return await list_under_prefix(context, prefix)
        raise InvalidName("handle", "name", None, "Empty handle invalid")
    context.handle = name
    if method in _READING:
        return await read_record(context, name)
    return await (put_record if method == "PUT" else delete_record)(context, name)


async def read_record(context: HandleContext, name: str) -> Response:
    """Return the record of a handle as the caller may see it."""
    parameters = context.parameters
    by = await context.find_caller()
    value_filter = build_value_filter(
        parameters.all("type"), (parse_number(text, "index") for text in parameters.all("index"))
    )
    public_only = parameters.flag("publicOnly")
    wants_all = by is not None if public_only is None else not public_only
    try:
        view = await read_handle(context.registry, name, by=by, wants_all=wants_all)
    except Withdrawn:
        tombstone = await read_tombstone(context.registry, name)
        if tombstone is None:  # it was reinstated meanwhile
            raise
        return tombstone_response(context, tombstone)
    if view.withheld and public_only is False:
        raise context.credentials_error() if by is None else NotAuthorised(by.id, "read", name)
    if view.version:
        context.app.resolutions.count_record(context.request, view.key)
    values = value_filter.select(view.values)
    if value_filter.restricts:
        if not values:
            return context.json_response(200, {"responseCode": VALUES_NOT_FOUND, "values": [], "handle": name})
    elif by is None and not view.key.startswith(_PREFIX_RECORDS):
        etag = record_etag(view.version)
        if is_not_modified(context.request, etag):
            return Response(304, b"", [NO_CACHE, (b"etag", etag.encode())])
        return context.apply_format(record_response(name, values, view.version))
    return context.json_response(
        200, {"responseCode": SUCCESS, "handle": name, "values": [to_json_value(value) for value in values]}
    )


def tombstone_response(context: HandleContext, found: HandleTombstone) -> Response:
    """Return that a handle is not found, as a Handle server does for a deleted one, and what remains of it.

    Clients of Handle servers look at the status and the response code, and ignore fields that they do not know.
    """
    stone = found.tombstone
    described: dict[str, object] = {"reason": stone.reason}
    if found.withdrawal is not None:
        described |= withdrawal_fields(describe_withdrawal(found.name, *found.withdrawal))
    if stone.replaced_by is not None:
        described["replaced_by"] = stone.replaced_by
    described["values"] = [to_json_value(value) for value in found.values]
    return context.json_response(
        404, {"responseCode": HANDLE_NOT_FOUND, "handle": context.handle, "tombstone": described}
    )


async def list_under_prefix(context: HandleContext, prefix: str) -> Response | None:
    """Return a page of the handles under a prefix, or stream a longer list."""
    by = await context.require_caller()
    page = read_page_request(context)
    number, size = (page.number, page.size or 0) if page.is_short else (0, 0)  # a longer list is only counted here
    async with context.search_slot():
        total, names = await list_handles(context.registry, by, prefix, number, size, cursors=context.app.page_cursors)
    fields = {"prefix": prefix, **page.describe(total)}
    if page.is_short:
        return context.success_response(**fields, handles=names)
    if page.first >= total:
        return context.success_response(**fields, handles=[])
    parts = iterate_handles(context.registry, by, prefix, page.first, page.size)
    await stream_names(context, fields, "handles", parts)
    return None


async def put_record(context: HandleContext, name: str) -> Response:
    """Create or change a record, or some of its values."""
    by = await context.require_caller()
    parameters = context.parameters
    is_minting = parameters.flag("mintNewSuffix") or False
    overwrite = parameters.flag("overwrite")
    body = await read_put(context.request, context.registry.settings.limits.values)
    if body.handle is not None and handle.fold(body.handle) != handle.fold(name):
        raise MalformedRequest("the handle in the body is not the one in the URL")
    if is_minting:
        return await _mint(context, by, name, body)
    indexes = parameters.all("index")
    if indexes and _VARIOUS not in indexes:
        _check_indexes(indexes, body)
    write = put_values if indexes else put_handle
    with expect_record_versions(context.request) as expected:
        result = await write(
            context.registry, by, name, body.values, overwrite=overwrite is not False, expected=expected
        )
    return context.success_response(201 if result.created else 200)


async def _mint(context: HandleContext, by: Agent, beginning: str, body: PutBody) -> Response:
    if context.parameters.all("index"):
        raise MalformedRequest(
            "`index` cannot be combined with `mintNewSuffix`: a new handle is created with all its values at once"
        )
    with expect_record_versions(context.request) as expected:
        result = await mint_handle(
            context.registry, by, beginning, body.values, expected=expected, patience=context.app.patience
        )
    context.handle = result.name
    return context.success_response(201)


def _check_indexes(indexes: list[str], body: PutBody) -> None:
    if sorted({parse_number(text, "index") for text in indexes}) != sorted(value.index for value in body.values):
        raise MalformedRequest("Mismatched indexes in PUT request")


async def delete_record(context: HandleContext, name: str) -> Response:
    """Delete a record, or some of its values."""
    by = await context.require_caller()
    indexes = [parse_number(text, "index") for text in context.parameters.all("index")]
    with expect_record_versions(context.request) as expected:
        if indexes:
            await delete_values(context.registry, by, name, indexes, expected=expected)
        else:
            await delete_handle(context.registry, by, name, expected=expected)
    return context.success_response()
