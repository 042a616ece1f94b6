"""Identifiers: what they say, and how that is changed."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from litestar import Response, delete, get, patch
from litestar.datastructures import ResponseHeader
from litestar.params import HeaderParameter, JSONBody, QueryParameter

from perdure import registry as use
from perdure.http.v1.asking import (
    KEY,
    KEY_OR_NOBODY,
    ROOT,
    FromDoor,
    IfMatch,
    Limit,
    Name,
    as_answer,
    etag,
    expecting,
    problems,
    read_name,
    told,
)
from perdure.http.v1.bodies import Change
from perdure.http.v1.showing import listed
from perdure.http.v1.told import ListedIdentifiers, ShownIdentifier

ETAG: Final = ResponseHeader(name="ETag", documentation_only=True, description="The version, for If-Match.")
CHANGING: Final = problems(404, 409, 410, 412, 428)

IfNoneMatch = Annotated[
    str | None, HeaderParameter(name="If-None-Match", description="The ETag of what you have already.")
]


@get(
    "/identifiers/{name:str}",
    operation_id="show",
    tags=["identifiers"],
    summary="Show",
    security=KEY_OR_NOBODY,
    responses=problems(304, 404),
    response_description="What the identifier says; a withdrawn one shows its tombstone.",
    response_headers=[ETAG],
)
async def show(asking: FromDoor, name: Name, if_none_match: IfNoneMatch = None) -> Response[ShownIdentifier]:
    """All that is said of an identifier. Values that are not public are shown to who may edit them."""
    view = await use.show(asking.registry, read_name(name), by=asking.by)
    if if_none_match is not None and matches(if_none_match, etag(view.version)):
        headers = {"etag": etag(view.version), "cache-control": "no-cache", "vary": "authorization"}
        nothing: Response[Any] = Response(None, status_code=304, headers=headers)
        return nothing
    return as_answer(view)


@patch(
    "/identifiers/{name:str}",
    operation_id="change",
    tags=["identifiers"],
    summary="Change",
    security=KEY,
    responses=CHANGING | problems(404, 409, 410, 412, 413, 415, 428),
    response_description="The identifier as it is now.",
    response_headers=[ETAG],
)
async def change(
    asking: FromDoor, name: Name, data: JSONBody[Change], if_match: IfMatch = None
) -> Response[ShownIdentifier]:
    """Say something else from now on, as a new version. What is not named stays, and the old version stays readable."""
    text = read_name(name)
    with expecting(if_match) as version:
        await use.update(asking.registry, asking.agent, text, data.statement(), expected_version=version)
    return await told(asking, text)


@delete(
    "/identifiers/{name:str}",
    status_code=200,
    operation_id="withdraw",
    tags=["identifiers"],
    summary="Withdraw",
    security=KEY,
    responses=CHANGING,
    response_description="The tombstone.",
    response_headers=[ETAG],
)
async def withdraw(
    asking: FromDoor,
    name: Name,
    reason: Annotated[str, QueryParameter(min_length=1, description="Why; everybody can read it.")],
    replaced_by: Annotated[str | None, QueryParameter(min_length=1, description="What stands for it now.")] = None,
    if_match: IfMatch = None,
) -> Response[ShownIdentifier]:
    """Put a tombstone in its place. Nothing is deleted: the history stays, and it can be reinstated."""
    text = read_name(name)
    with expecting(if_match) as version:
        await use.withdraw(
            asking.registry, asking.agent, text, reason, replaced_by=replaced_by, expected_version=version
        )
    return await told(asking, text)


@get(
    "/identifiers",
    operation_id="list",
    tags=["identifiers"],
    summary="List",
    security=KEY,
    responses=problems(404),
    response_description="A page of identifiers.",
    response_headers=[
        ResponseHeader(name="Link", documentation_only=True, description="The following page, with rel=next.")
    ],
)
async def list_identifiers(
    asking: FromDoor,
    prefix: Annotated[str | None, QueryParameter(min_length=1, description="Only what lies under this one.")] = None,
    after: Annotated[str, QueryParameter(description="What the page before gave as `next`.")] = "",
    limit: Limit = 100,
) -> Response[ListedIdentifiers]:
    """All identifiers, in the order of their names, page by page. This needs a grant to edit, or to administer."""
    page = await use.list_identifiers(asking.registry, asking.agent, prefix, after=after, limit=asking.bounded(limit))
    headers = {}
    if page.next is not None:
        asked = {"prefix": prefix, "after": page.next, "limit": limit}
        query = urlencode({key: said for key, said in asked.items() if said is not None})
        headers["link"] = f'<{ROOT}/identifiers?{query}>; rel="next"'
    rows = tuple(listed(row) for row in page.identifiers)
    return Response(ListedIdentifiers(identifiers=rows, next=page.next), headers=headers)


def matches(given: str, current: str) -> bool:
    """Whether one of the ETags is the current one, weak or not; a * is whatever is there."""
    tags = [tag.strip().removeprefix("W/") for tag in given.split(",")]
    return current in tags or "*" in tags
