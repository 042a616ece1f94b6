"""What is concluded of persons, and done to what is: reconstruct, revise, link, merge, split, undo, restrict."""

from typing import Final

from litestar import Response, post, put
from litestar.params import JSONBody

from perdure.http.v1.asking import KEY, FromDoor, IfMatch, expecting, problems, read_name
from perdure.http.v1.identifiers import ETAG
from perdure.http.v1.observing import CREATED, KNOWN, PLACE, place_headers
from perdure.http.v1.person_bodies import (
    Lifting,
    Merging,
    NewReconstruction,
    Redacting,
    ReplacedLinks,
    Restricting,
    RevisedReconstruction,
    Splitting,
    Undoing,
)
from perdure.http.v1.person_showing import new_person, told_person
from perdure.http.v1.person_told import NewPerson, NewPersons, ShownPerson
from perdure.http.v1.persons import Ppid
from perdure.registry import persons as use
from perdure.registry.persons.linking import replace_links

_CHANGING: Final = problems(404, 409, 410, 412, 413, 415, 428)


@post(
    "/prid",
    status_code=CREATED,
    operation_id="reconstruct",
    tags=["persons"],
    summary="Reconstruct",
    security=KEY,
    responses=KNOWN | problems(409, 413, 415),
    response_description="A new reconstruction, at version 1.",
    response_headers=PLACE,
)
async def reconstruct(asking: FromDoor, data: JSONBody[NewReconstruction]) -> Response[NewPerson]:
    """What a curator, or an algorithm, concludes from observations. The same inputs always lead to the same PRID."""
    origin, made = asking.request.origin, data.stated()
    person = await use.reconstruct(
        asking.registry, asking.agent, made.observation_ids, made.curator_id, made.timestamp, made
    )
    headers = {key.decode(): value.decode() for key, value in await place_headers(asking, person)}
    return Response(new_person(origin, person), status_code=CREATED if person.created else 200, headers=headers)


@put(
    "/{ppid:str}",
    operation_id="revisePerson",
    tags=["persons"],
    summary="Revise",
    security=KEY,
    responses=_CHANGING,
    response_description="The reconstruction as it is now.",
    response_headers=[ETAG],
)
async def revise(
    asking: FromDoor, ppid: Ppid, data: JSONBody[RevisedReconstruction], if_match: IfMatch = None
) -> Response[ShownPerson]:
    """Conclude something else from now on, as a new version of a PRID. The old version stays readable."""
    name, made = read_name(ppid), data.stated()
    with expecting(if_match) as version:
        await use.revise_reconstruction(
            asking.registry,
            asking.agent,
            name,
            made.observation_ids,
            made.curator_id,
            made.timestamp,
            made,
            expected_version=version,
            note=data.reason,
        )
    return await told_person(asking, name)


@put(
    "/{ppid:str}/links",
    operation_id="replaceLinks",
    tags=["persons"],
    summary="Link",
    security=KEY,
    responses=_CHANGING,
    response_description="The reconstruction as it is now.",
    response_headers=[ETAG],
)
async def link(
    asking: FromDoor, ppid: Ppid, data: JSONBody[ReplacedLinks], if_match: IfMatch = None
) -> Response[ShownPerson]:
    """Say anew who a person is in other systems, as a new version that keeps everything else."""
    name = read_name(ppid)
    links = [one.stated() for one in data.links]
    with expecting(if_match) as version:
        await replace_links(asking.registry, asking.agent, name, links, expected_version=version, note=data.reason)
    return await told_person(asking, name)


@post(
    "/{ppid:str}/merge",
    status_code=200,
    operation_id="mergePerson",
    tags=["persons"],
    summary="Merge",
    security=KEY,
    responses=_CHANGING,
    response_description="The reconstruction that took it up, as it is now.",
    response_headers=[ETAG],
)
async def merge(
    asking: FromDoor, ppid: Ppid, data: JSONBody[Merging], if_match: IfMatch = None
) -> Response[ShownPerson]:
    """Two reconstructions are one person: `into` takes this one up, which leads there from now on."""
    with expecting(if_match) as version:
        await use.merge(
            asking.registry,
            asking.agent,
            read_name(ppid),
            data.into,
            data.curation(),
            data.reason,
            expected_version=version,
        )
    return await told_person(asking, data.into)


@post(
    "/{ppid:str}/split",
    status_code=CREATED,
    operation_id="splitPerson",
    tags=["persons"],
    summary="Split",
    security=KEY,
    responses=_CHANGING,
    response_description="The persons that it was, each with a PRID of their own.",
)
async def split(
    asking: FromDoor, ppid: Ppid, data: JSONBody[Splitting], if_match: IfMatch = None
) -> Response[NewPersons]:
    """What was taken for one person was several: each gets some of the observations, and the claims made there."""
    origin = asking.request.origin
    with expecting(if_match) as version:
        made = await use.split(
            asking.registry,
            asking.agent,
            read_name(ppid),
            data.parts,
            data.curation(),
            data.reason,
            expected_version=version,
        )
    return Response(NewPersons(persons=tuple(new_person(origin, one) for one in made)), status_code=CREATED)


@post(
    "/{ppid:str}/undo",
    status_code=200,
    operation_id="undoPerson",
    tags=["persons"],
    summary="Undo a merge or a split",
    security=KEY,
    responses=_CHANGING,
    response_description="The reconstruction that stands again.",
    response_headers=[ETAG],
)
async def undo(
    asking: FromDoor, ppid: Ppid, data: JSONBody[Undoing], if_match: IfMatch = None
) -> Response[ShownPerson]:
    """Let a reconstruction that was merged into another, or split, stand again."""
    name = read_name(ppid)
    view = (await use.show_person(asking.registry, name)).view
    with expecting(if_match) as version:
        if view.tombstone is not None and view.tombstone.successors:
            curation = None if data.curator_id is None else data.curation()
            await use.undo_split(asking.registry, asking.agent, name, data.reason, curation, expected_version=version)
        else:
            await use.undo_merge(
                asking.registry, asking.agent, name, data.curation(), data.reason, expected_version=version
            )
    return await told_person(asking, name)


@post(
    "/{ppid:str}/restrict",
    status_code=200,
    operation_id="restrictPerson",
    tags=["persons"],
    summary="Restrict",
    security=KEY,
    responses=_CHANGING,
    response_description="The person as you may see them now.",
    response_headers=[ETAG],
)
async def restrict(
    asking: FromDoor, ppid: Ppid, data: JSONBody[Restricting], if_match: IfMatch = None
) -> Response[ShownPerson]:
    """From now on only who may edit it sees what is said. Everybody sees that, since when, and for what reason."""
    name = read_name(ppid)
    with expecting(if_match) as version:
        await use.restrict(asking.registry, asking.agent, name, data.reason, expected_version=version)
    return await told_person(asking, name)


@post(
    "/{ppid:str}/lift-restriction",
    status_code=200,
    operation_id="liftRestriction",
    tags=["persons"],
    summary="Lift a restriction",
    security=KEY,
    responses=_CHANGING,
    response_description="The person as everybody may see them now.",
    response_headers=[ETAG],
)
async def lift_restriction(
    asking: FromDoor, ppid: Ppid, data: JSONBody[Lifting], if_match: IfMatch = None
) -> Response[ShownPerson]:
    """Show it again. That it was restricted, and why, stays in the history."""
    name = read_name(ppid)
    with expecting(if_match) as version:
        await use.lift_restriction(asking.registry, asking.agent, name, data.reason, expected_version=version)
    return await told_person(asking, name)


@post(
    "/{ppid:str}/redact",
    status_code=200,
    operation_id="redactPerson",
    tags=["persons"],
    summary="Redact",
    security=KEY,
    responses=_CHANGING,
    response_description="What is left.",
    response_headers=[ETAG],
)
async def redact(
    asking: FromDoor, ppid: Ppid, data: JSONBody[Redacting], if_match: IfMatch = None
) -> Response[ShownPerson]:
    """Take out all that is said, of every version and for good. That it was, why and when, stays."""
    name = read_name(ppid)
    with expecting(if_match) as version:
        await use.redact(asking.registry, asking.agent, name, data.reason, expected_version=version)
    return await told_person(asking, name)
