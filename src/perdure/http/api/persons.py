"""Endpoints to show, validate and find persons."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from litestar import Response, get
from litestar.datastructures import ResponseHeader
from litestar.openapi.spec import Example
from litestar.params import PathParameter, QueryParameter

from perdure.errors import InvalidInput, InvalidName
from perdure.http.api.identifiers import ETAG_HEADER, IfNoneMatch
from perdure.http.api.person_paths import decode_segment
from perdure.http.api.person_views import (
    build_observation,
    build_person,
    build_person_search,
    build_validation,
    person_etag,
)
from perdure.http.api.request_context import (
    CREDENTIALS_OPTIONAL,
    InjectedContext,
    PageLimit,
    decode_name,
    error_responses,
    validator_headers,
)
from perdure.http.api.schemas.person_responses import (
    ObservationListResponse,
    PersonHistoryResponse,
    PersonResponse,
    PersonSearchResponse,
    ValidationResponse,
)
from perdure.http.api.views import build_revisions
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import if_none_match_has
from perdure.registry.identifier_view import is_hidden
from perdure.registry.persons import list_observations, show_person
from perdure.registry.persons.person_search import find_by_link, find_by_name
from perdure.registry.query import list_acts

_LARGEST: Final = 2**31 - 1

Ppid = Annotated[
    str,
    PathParameter(
        description="A POID or a PRID. GET redirects to its canonical spelling.",
        pattern="^[Pp][OoRr][Ii][Dd]-[^/]*$",
        examples=[Example(value="POID-93b0-4476-560e-5ac1")],
    ),
]
AtVersion = Annotated[int, QueryParameter(ge=0, le=_LARGEST, description="The version; 0 is the newest.")]


@get(
    "/{ppid:str}",
    operation_id="person",
    tags=["persons"],
    summary="Show a person",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(304, 308, 404),
    response_description="The observation or the reconstruction.",
    response_headers=[ETAG_HEADER],
)
async def show(
    context: InjectedContext, ppid: Ppid, version: AtVersion = 0, if_none_match: IfNoneMatch = None
) -> Response[PersonResponse]:
    """Show a person. Without permission to edit, a restricted person shows only the reason and the date."""
    person = await show_person(context.registry, decode_name(ppid), version=version or None, by=context.caller)
    tag = person_etag(person)
    headers = validator_headers(tag)
    if if_none_match_has(if_none_match, tag):
        nothing: Response[Any] = Response(None, status_code=304, headers=headers)
        return nothing
    return Response(build_person(context.request.origin, person), headers=headers)


@get(
    "/{ppid:str}/validate",
    operation_id="validatePerson",
    tags=["persons"],
    summary="Validate a person identifier",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="Whether it is valid, and whether it is registered.",
)
async def validate(
    context: InjectedContext,
    ppid: Annotated[str, PathParameter(description="Any text.", examples=[Example(value="POID-7a3b-c4d5-e6f7-890X")])],
) -> Response[ValidationResponse]:
    """Check whether a text is a person identifier: its syntax, its check digit, and whether it is registered here."""
    return Response(await build_validation(context, decode_segment(ppid)))


@get(
    "/{ppid:str}/observations",
    operation_id="observations",
    tags=["persons"],
    summary="List observations",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(308, 404),
    response_description="The observations of a reconstruction.",
)
async def observations(
    context: InjectedContext, ppid: Ppid, version: AtVersion = 0
) -> Response[ObservationListResponse]:
    """List the observations of a reconstruction, as far as they are visible to the caller."""
    name, origin = decode_name(ppid), context.request.origin
    views = await list_observations(context.registry, name, version=version or None, by=context.caller)
    view = (await show_person(context.registry, name, version=version or None, by=context.caller)).view
    response = ObservationListResponse(
        ppid=view.name,
        version=view.version,
        observations=()
        if is_hidden(view.scheme, view)
        else tuple(build_observation(origin, observed) for observed in views),
        restriction=view.restriction,
        redaction=view.redaction,
    )
    return Response(response)


@get(
    "/{ppid:str}/history",
    operation_id="personHistory",
    tags=["persons"],
    summary="List versions of a person",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(308, 404),
    response_description="The agent, the time and the action of each version.",
)
async def history(
    context: InjectedContext,
    ppid: Ppid,
    after: Annotated[int, QueryParameter(ge=0, le=_LARGEST, description="Only versions after this number.")] = 0,
    limit: PageLimit = 100,
) -> Response[PersonHistoryResponse]:
    """List all versions with time, agent and action. Notes on a restricted person require permission to edit."""
    person = await show_person(context.registry, decode_name(ppid), by=context.caller)
    page = await list_acts(
        context.registry, person.view.name, after=after, limit=context.clamp_limit(limit), by=context.caller
    )
    last = page[-1].version if page else person.newest
    response = PersonHistoryResponse(
        ppid=person.view.name, revisions=build_revisions(page), next=last if last < person.newest else None
    )
    return Response(response)


@get(
    "/persons",
    operation_id="findPersons",
    tags=["persons"],
    summary="Find persons",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="The persons found.",
    response_headers=[
        ResponseHeader(name="Link", documentation_only=True, description="The next page, with rel=next.")
    ],
)
async def find(
    context: InjectedContext,
    name: Annotated[
        str | None,
        QueryParameter(
            min_length=1,
            description="Words that must all be in one name. With * at its end, a word matches all that begin with it.",
        ),
    ] = None,
    orcid: Annotated[str | None, QueryParameter(min_length=1, description="In any notation.")] = None,
    isni: Annotated[str | None, QueryParameter(min_length=1, description="In any notation.")] = None,
    viaf: Annotated[str | None, QueryParameter(min_length=1, description="In any notation.")] = None,
    wikidata: Annotated[str | None, QueryParameter(min_length=1, description="In any notation.")] = None,
    after: Annotated[
        str | None,
        QueryParameter(min_length=1, description="The value of `next` from the previous page of a search by name."),
    ] = None,
    limit: PageLimit = 100,
) -> Response[PersonSearchResponse]:
    """Find persons by words of their names, or by their identifier in another system. Give exactly one criterion."""
    criteria = {"name": name, "orcid": orcid, "isni": isni, "viaf": viaf, "wikidata": wikidata}
    given = [(key, text) for key, text in criteria.items() if text is not None]
    if len(given) != 1:
        raise InvalidInput("request", "name", f"give exactly one of {', '.join(criteria)}, not {len(given) or 'none'}")
    [(key, text)] = given
    most = context.clamp_limit(limit)
    origin = context.request.origin
    if key == "name":
        async with context.acquire_search_slot():
            page = await find_by_name(context.registry, text.split(), after=after, limit=most)
        following = urlencode({"name": text, "after": page.next, "limit": limit})
        headers = {} if page.next is None else {"link": f'<{API_ROOT}/persons?{following}>; rel="next"'}
        return Response(build_person_search(origin, page.persons, page.next), headers=headers)
    if after is not None:
        raise InvalidInput("request", "after", f"after is only supported for a search by name, not by {key}")
    try:
        async with context.acquire_search_slot():
            return Response(build_person_search(origin, await find_by_link(context.registry, key, text, limit=most)))
    except InvalidName as problem:
        raise InvalidInput("request", key, problem.reason) from None
