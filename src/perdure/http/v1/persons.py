"""Persons: what is said of them, now and before; what that stands upon; and how they are found."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from litestar import Response, get
from litestar.datastructures import ResponseHeader
from litestar.openapi.spec import Example
from litestar.params import PathParameter, QueryParameter

from perdure.errors import InvalidInput, InvalidName
from perdure.http.v1.asking import KEY_OR_NOBODY, ROOT, FromDoor, Limit, problems, read_name
from perdure.http.v1.identifiers import ETAG, IfNoneMatch, matches
from perdure.http.v1.person_paths import read_segment
from perdure.http.v1.person_showing import (
    found_persons,
    shown_observation,
    shown_person,
    tag_of,
    validation,
)
from perdure.http.v1.person_told import FoundPersons, PersonHistory, ShownObservations, ShownPerson, Validation
from perdure.http.v1.showing import shown_revisions
from perdure.registry.looking import acts, is_hidden
from perdure.registry.persons import observations_of, show_person
from perdure.registry.persons.finding import find_by_link, find_by_name

_LARGEST: Final = 2**31 - 1

Ppid = Annotated[
    str,
    PathParameter(
        description="A POID or a PRID. Reading redirects to its canonical spelling.",
        pattern="^[Pp][OoRr][Ii][Dd]-[^/]*$",
        examples=[Example(value="POID-93b0-4476-560e-5ac1")],
    ),
]
AtVersion = Annotated[
    int, QueryParameter(ge=0, le=_LARGEST, description="As it was at this version; 0 is the newest, whichever that is.")
]


@get(
    "/{ppid:str}",
    operation_id="person",
    tags=["persons"],
    summary="Show a person",
    security=KEY_OR_NOBODY,
    responses=problems(304, 308, 404),
    response_description="What the observation shows, or what the reconstruction concludes.",
    response_headers=[ETAG],
)
async def show(
    asking: FromDoor, ppid: Ppid, version: AtVersion = 0, if_none_match: IfNoneMatch = None
) -> Response[ShownPerson]:
    """All that is said of a person. If it is restricted, who may not edit it sees the reason, and since when."""
    person = await show_person(asking.registry, read_name(ppid), version=version or None, by=asking.by)
    tag = tag_of(person)
    headers = {"etag": tag, "cache-control": "no-cache", "vary": "authorization"}
    if if_none_match is not None and matches(if_none_match, tag):
        nothing: Response[Any] = Response(None, status_code=304, headers=headers)
        return nothing
    return Response(shown_person(asking.request.origin, person), headers=headers)


@get(
    "/{ppid:str}/validate",
    operation_id="validatePerson",
    tags=["persons"],
    summary="Validate",
    security=KEY_OR_NOBODY,
    responses=problems(),
    response_description="Whether it is one, and whether it is registered.",
)
async def validate(
    asking: FromDoor,
    ppid: Annotated[str, PathParameter(description="Any text.", examples=[Example(value="POID-7a3b-c4d5-e6f7-890X")])],
) -> Response[Validation]:
    """Whether a text is a person identifier: its shape, its check digit, and whether it is registered here."""
    return Response(await validation(asking, read_segment(ppid)))


@get(
    "/{ppid:str}/observations",
    operation_id="observations",
    tags=["persons"],
    summary="What it stands upon",
    security=KEY_OR_NOBODY,
    responses=problems(308, 404),
    response_description="The observations of a reconstruction.",
)
async def observations(asking: FromDoor, ppid: Ppid, version: AtVersion = 0) -> Response[ShownObservations]:
    """The observations that a reconstruction is derived from, each as it may be shown."""
    name, origin = read_name(ppid), asking.request.origin
    views = await observations_of(asking.registry, name, version=version or None, by=asking.by)
    view = (await show_person(asking.registry, name, version=version or None, by=asking.by)).view
    told = ShownObservations(
        ppid=view.name,
        version=view.version,
        observations=() if is_hidden(view.scheme, view) else tuple(shown_observation(origin, one) for one in views),
        restriction=view.restriction,
        redaction=view.redaction,
    )
    return Response(told)


@get(
    "/{ppid:str}/history",
    operation_id="personHistory",
    tags=["persons"],
    summary="All versions of a person",
    security=KEY_OR_NOBODY,
    responses=problems(308, 404),
    response_description="Who changed it, when, and by what act.",
)
async def history(
    asking: FromDoor,
    ppid: Ppid,
    after: Annotated[int, QueryParameter(ge=0, le=_LARGEST, description="Only versions after this one.")] = 0,
    limit: Limit = 100,
) -> Response[PersonHistory]:
    """Every version: when, by whom, and by what act. While it is restricted, notes need a grant to edit."""
    person = await show_person(asking.registry, read_name(ppid), by=asking.by)
    page = await acts(asking.registry, person.view.name, after=after, limit=asking.bounded(limit), by=asking.by)
    last = page[-1].version if page else person.newest
    told = PersonHistory(
        ppid=person.view.name, revisions=shown_revisions(page), next=last if last < person.newest else None
    )
    return Response(told)


@get(
    "/persons",
    operation_id="findPersons",
    tags=["persons"],
    summary="Find persons",
    security=KEY_OR_NOBODY,
    responses=problems(),
    response_description="Who was found.",
    response_headers=[
        ResponseHeader(name="Link", documentation_only=True, description="The following page, with rel=next.")
    ],
)
async def find(
    asking: FromDoor,
    name: Annotated[
        str | None,
        QueryParameter(
            min_length=1, description="Words that are all in one name; one that ends in * is the beginning of a word."
        ),
    ] = None,
    orcid: Annotated[str | None, QueryParameter(min_length=1, description="In any form.")] = None,
    isni: Annotated[str | None, QueryParameter(min_length=1, description="In any form.")] = None,
    viaf: Annotated[str | None, QueryParameter(min_length=1, description="In any form.")] = None,
    wikidata: Annotated[str | None, QueryParameter(min_length=1, description="In any form.")] = None,
    after: Annotated[
        str | None,
        QueryParameter(min_length=1, description="What the page before gave as `next`, of a search by name."),
    ] = None,
    limit: Limit = 100,
) -> Response[FoundPersons]:
    """Find persons by words of their names, or by who they are in another system: by one of these at a time."""
    asked = {"name": name, "orcid": orcid, "isni": isni, "viaf": viaf, "wikidata": wikidata}
    given = [(key, text) for key, text in asked.items() if text is not None]
    if len(given) != 1:
        raise InvalidInput("request", "name", f"give one of {', '.join(asked)}, not {len(given) or 'none'}")
    [(key, text)] = given
    most = asking.bounded(limit)
    origin = asking.request.origin
    if key == "name":
        async with asking.turn_to_search():
            page = await find_by_name(asking.registry, text.split(), after=after, limit=most)
        following = urlencode({"name": text, "after": page.next, "limit": limit})
        headers = {} if page.next is None else {"link": f'<{ROOT}/persons?{following}>; rel="next"'}
        return Response(found_persons(origin, page.persons, page.next), headers=headers)
    if after is not None:
        raise InvalidInput("request", "after", f"only a search by name has more pages, and one by {key} has not")
    try:
        async with asking.turn_to_search():
            return Response(found_persons(origin, await find_by_link(asking.registry, key, text, limit=most)))
    except InvalidName as problem:
        raise InvalidInput("request", key, problem.reason) from None
