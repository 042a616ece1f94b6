"""Endpoints to bind, reinstate and transfer identifiers, and to add, remove and redact their values."""

from typing import Annotated

from litestar import Response, delete, post
from litestar.params import JSONBody, QueryParameter

from perdure import registry as use
from perdure.http.api.identifiers import CHANGE_ERRORS, ETAG_HEADER
from perdure.http.api.request_context import (
    CREDENTIALS_REQUIRED,
    IfMatch,
    InjectedContext,
    Name,
    decode_name,
    error_responses,
    identifier_response,
)
from perdure.http.api.schemas.requests import AddValuesRequest, BindRequest, RedactValuesRequest, TransferRequest
from perdure.http.api.schemas.responses import IdentifierResponse, TransferResponse
from perdure.http.api.schemas.values import values_to_domain
from perdure.http.shared.conditional import expect_version

_BODY_ERRORS = error_responses(404, 409, 410, 412, 413, 415, 428)


@post(
    "/bindings/{name:str}",
    status_code=200,
    operation_id="bind",
    tags=["identifiers"],
    summary="Bind a reserved name",
    security=CREDENTIALS_REQUIRED,
    responses=_BODY_ERRORS,
    response_description="The current state of the identifier.",
    response_headers=[ETAG_HEADER],
)
async def bind(
    context: InjectedContext, name: Name, data: JSONBody[BindRequest], if_match: IfMatch = None
) -> Response[IdentifierResponse]:
    """Bind a reserved name to its content. This sets the creation date."""
    text = decode_name(name)
    with expect_version(if_match) as version:
        await use.bind(context.registry, context.agent, text, data.to_statement(), expected_version=version)
    return await identifier_response(context, text)


@post(
    "/values/{name:str}",
    status_code=200,
    operation_id="addValues",
    tags=["identifiers"],
    summary="Add values",
    security=CREDENTIALS_REQUIRED,
    responses=_BODY_ERRORS,
    response_description="The current state of the identifier.",
    response_headers=[ETAG_HEADER],
)
async def add_values(
    context: InjectedContext, name: Name, data: JSONBody[AddValuesRequest], if_match: IfMatch = None
) -> Response[IdentifierResponse]:
    """Add values. An index that is in use is an error; 0 takes a free one."""
    text = decode_name(name)
    with expect_version(if_match) as version:
        await use.add_values(
            context.registry, context.agent, text, values_to_domain(data.values), expected_version=version
        )
    return await identifier_response(context, text)


@delete(
    "/values/{name:str}",
    status_code=200,
    operation_id="removeValues",
    tags=["identifiers"],
    summary="Remove values",
    security=CREDENTIALS_REQUIRED,
    responses=CHANGE_ERRORS,
    response_description="The current state of the identifier.",
    response_headers=[ETAG_HEADER],
)
async def remove_values(
    context: InjectedContext,
    name: Name,
    index: Annotated[
        list[int],
        QueryParameter(min_items=1, max_items=100, description="The indexes of the values; may be repeated."),
    ],
    if_match: IfMatch = None,
) -> Response[IdentifierResponse]:
    """Remove values. They stay in the history."""
    text = decode_name(name)
    with expect_version(if_match) as version:
        await use.remove_values(context.registry, context.agent, text, index, expected_version=version)
    return await identifier_response(context, text)


@post(
    "/redactions/{name:str}",
    status_code=200,
    operation_id="redactValues",
    tags=["identifiers"],
    summary="Redact values",
    security=CREDENTIALS_REQUIRED,
    responses=_BODY_ERRORS,
    response_description="The remaining content.",
    response_headers=[ETAG_HEADER],
)
async def redact_values(
    context: InjectedContext, name: Name, data: JSONBody[RedactValuesRequest], if_match: IfMatch = None
) -> Response[IdentifierResponse]:
    """Remove values from every version permanently. The reason and the date stay. Requires permission to administer."""
    text = decode_name(name)
    with expect_version(if_match) as version:
        await use.redact_values(
            context.registry, context.agent, text, data.indexes, data.reason, expected_version=version
        )
    return await identifier_response(context, text)


@post(
    "/reinstatements/{name:str}",
    status_code=200,
    operation_id="reinstate",
    tags=["identifiers"],
    summary="Reinstate an identifier",
    security=CREDENTIALS_REQUIRED,
    responses=CHANGE_ERRORS,
    response_description="The current state of the identifier.",
    response_headers=[ETAG_HEADER],
)
async def reinstate(context: InjectedContext, name: Name, if_match: IfMatch = None) -> Response[IdentifierResponse]:
    """Undo a withdrawal. It stays in the history."""
    text = decode_name(name)
    with expect_version(if_match) as version:
        await use.reinstate(context.registry, context.agent, text, expected_version=version)
    return await identifier_response(context, text)


@post(
    "/transfers",
    status_code=200,
    operation_id="transfer",
    tags=["identifiers"],
    summary="Transfer identifiers",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 413, 415),
    response_description="The number of transferred identifiers.",
)
async def transfer(context: InjectedContext, data: JSONBody[TransferRequest]) -> Response[TransferResponse]:
    """Transfer identifiers to another agent: all of them, or none."""
    moved = await use.transfer_identifiers(context.registry, context.agent, data.names, data.to)
    return Response(TransferResponse(transferred=moved))
