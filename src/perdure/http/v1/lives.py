"""What befalls an identifier beside edits: it is bound, gets and loses values, is reinstated, changes hands."""

from typing import Annotated

from litestar import Response, delete, post
from litestar.params import JSONBody, QueryParameter

from perdure import registry as use
from perdure.http.v1.asking import KEY, FromDoor, IfMatch, Name, expecting, problems, read_name, told
from perdure.http.v1.bodies import AddedValues, Binding, RedactedValues, Transfer
from perdure.http.v1.identifiers import CHANGING, ETAG
from perdure.http.v1.sent_values import stated
from perdure.http.v1.told import ShownIdentifier, Transferred

_SENDING = problems(404, 409, 410, 412, 413, 415, 428)


@post(
    "/bindings/{name:str}",
    status_code=200,
    operation_id="bind",
    tags=["identifiers"],
    summary="Bind",
    security=KEY,
    responses=_SENDING,
    response_description="The identifier as it is now.",
    response_headers=[ETAG],
)
async def bind(
    asking: FromDoor, name: Name, data: JSONBody[Binding], if_match: IfMatch = None
) -> Response[ShownIdentifier]:
    """Say what a reserved name stands for. This is its creation date."""
    text = read_name(name)
    with expecting(if_match) as version:
        await use.bind(asking.registry, asking.agent, text, data.statement(), expected_version=version)
    return await told(asking, text)


@post(
    "/values/{name:str}",
    status_code=200,
    operation_id="addValues",
    tags=["identifiers"],
    summary="Add values",
    security=KEY,
    responses=_SENDING,
    response_description="The identifier as it is now.",
    response_headers=[ETAG],
)
async def add_values(
    asking: FromDoor, name: Name, data: JSONBody[AddedValues], if_match: IfMatch = None
) -> Response[ShownIdentifier]:
    """Add values to those that are there. An index that is taken is an error; 0 takes one that is free."""
    text = read_name(name)
    with expecting(if_match) as version:
        await use.add_values(asking.registry, asking.agent, text, stated(data.values), expected_version=version)
    return await told(asking, text)


@delete(
    "/values/{name:str}",
    status_code=200,
    operation_id="removeValues",
    tags=["identifiers"],
    summary="Remove values",
    security=KEY,
    responses=CHANGING,
    response_description="The identifier as it is now.",
    response_headers=[ETAG],
)
async def remove_values(
    asking: FromDoor,
    name: Name,
    index: Annotated[
        list[int],
        QueryParameter(min_items=1, max_items=100, description="Which ones; may be given many times."),
    ],
    if_match: IfMatch = None,
) -> Response[ShownIdentifier]:
    """Take values away; the history keeps them."""
    text = read_name(name)
    with expecting(if_match) as version:
        await use.remove_values(asking.registry, asking.agent, text, index, expected_version=version)
    return await told(asking, text)


@post(
    "/redactions/{name:str}",
    status_code=200,
    operation_id="redactValues",
    tags=["identifiers"],
    summary="Redact values",
    security=KEY,
    responses=_SENDING,
    response_description="What is left.",
    response_headers=[ETAG],
)
async def redact_values(
    asking: FromDoor, name: Name, data: JSONBody[RedactedValues], if_match: IfMatch = None
) -> Response[ShownIdentifier]:
    """Take values out of every version, for good. The reason and the date stay. This needs a grant to administer."""
    text = read_name(name)
    with expecting(if_match) as version:
        await use.redact_values(
            asking.registry, asking.agent, text, data.indexes, data.reason, expected_version=version
        )
    return await told(asking, text)


@post(
    "/reinstatements/{name:str}",
    status_code=200,
    operation_id="reinstate",
    tags=["identifiers"],
    summary="Reinstate",
    security=KEY,
    responses=CHANGING,
    response_description="The identifier as it is now.",
    response_headers=[ETAG],
)
async def reinstate(asking: FromDoor, name: Name, if_match: IfMatch = None) -> Response[ShownIdentifier]:
    """Take a tombstone away again; the withdrawal stays in the history."""
    text = read_name(name)
    with expecting(if_match) as version:
        await use.reinstate(asking.registry, asking.agent, text, expected_version=version)
    return await told(asking, text)


@post(
    "/transfers",
    status_code=200,
    operation_id="transfer",
    tags=["identifiers"],
    summary="Transfer",
    security=KEY,
    responses=problems(404, 409, 413, 415),
    response_description="They changed hands.",
)
async def transfer(asking: FromDoor, data: JSONBody[Transfer]) -> Response[Transferred]:
    """Let another agent answer for identifiers from now on: for all of them, or for none."""
    moved = await use.transfer_identifiers(asking.registry, asking.agent, data.names, data.to)
    return Response(Transferred(transferred=moved))
