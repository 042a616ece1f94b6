"""What identifiers said before: every version stays readable."""

from typing import Annotated

from litestar import Response, get
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.http.v1.asking import KEY_OR_NOBODY, FromDoor, Limit, Name, as_answer, problems, read_name
from perdure.http.v1.identifiers import ETAG
from perdure.http.v1.showing import shown_difference, shown_revisions
from perdure.http.v1.told import ShownDifferences, ShownHistory, ShownIdentifier
from perdure.registry.looking import acts

_LARGEST = 2**31 - 1


@get(
    "/history/{name:str}",
    operation_id="history",
    tags=["history"],
    summary="All versions",
    security=KEY_OR_NOBODY,
    responses=problems(404),
    response_description="Who changed it, when, and by what act.",
)
async def history(
    asking: FromDoor,
    name: Name,
    after: Annotated[int, QueryParameter(ge=0, le=_LARGEST, description="Only versions after this one.")] = 0,
    limit: Limit = 100,
) -> Response[ShownHistory]:
    """Every version: when, by whom, and by what act."""
    text = read_name(name)
    page = await acts(asking.registry, text, after=after, limit=asking.bounded(limit), by=asking.by)
    behind = await acts(asking.registry, text, after=page[-1].version, limit=1) if page else []
    more = page[-1].version if behind else None
    return Response(ShownHistory(name=text, revisions=shown_revisions(page), next=more))


@get(
    "/versions/{name:str}",
    operation_id="version",
    tags=["history"],
    summary="One version",
    security=KEY_OR_NOBODY,
    responses=problems(404),
    response_description="What the identifier said then.",
    response_headers=[ETAG],
)
async def version(
    asking: FromDoor,
    name: Name,
    version: Annotated[int, QueryParameter(ge=1, le=_LARGEST, description="Which one.")],
) -> Response[ShownIdentifier]:
    """What the identifier said at a version."""
    return as_answer(await use.show(asking.registry, read_name(name), version=version, by=asking.by))


@get(
    "/diff/{name:str}",
    operation_id="diff",
    tags=["history"],
    summary="What changed",
    security=KEY_OR_NOBODY,
    responses=problems(404),
    response_description="What the two versions say differently.",
)
async def diff(
    asking: FromDoor,
    name: Name,
    earlier: Annotated[int, QueryParameter(name="from", ge=1, le=_LARGEST, description="The earlier version.")],
    later: Annotated[int, QueryParameter(name="to", ge=1, le=_LARGEST, description="The later version.")],
) -> Response[ShownDifferences]:
    """What changed from one version to another, part by part."""
    text = read_name(name)
    found = await use.diff(asking.registry, text, earlier, later, by=asking.by)
    return Response(ShownDifferences(name=text, differences=tuple(shown_difference(one) for one in found)))
