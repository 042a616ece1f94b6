"""Endpoints for curators: reconstruct, revise, link, merge, split, undo, restrict and redact."""

from typing import Final

from litestar import Response, patch, post, put
from litestar.params import JSONBody

from perdure.http.api.identifiers import ETAG_HEADER
from perdure.http.api.observing import CREATED, EXISTING_PERSON, LOCATION_HEADERS, created_response
from perdure.http.api.person_views import build_created_person, person_response
from perdure.http.api.persons import Ppid
from perdure.http.api.request_context import (
    CREDENTIALS_REQUIRED,
    ApiContext,
    IfMatch,
    InjectedContext,
    decode_name,
    error_responses,
)
from perdure.http.api.schemas.person_requests import (
    ChangeLinksRequest,
    LiftRestrictionRequest,
    MergeRequest,
    ReconstructRequest,
    RedactPersonRequest,
    ReplaceLinksRequest,
    RestrictRequest,
    ReviseRequest,
    SplitRequest,
    UndoRequest,
)
from perdure.http.api.schemas.person_responses import CreatedPerson, PersonResponse, SplitResponse
from perdure.http.shared.conditional import expect_version
from perdure.registry import persons as use
from perdure.registry.persons import DroppedItem

_CHANGE_ERRORS: Final = error_responses(404, 409, 410, 412, 413, 415, 428)


@post(
    "/prid",
    status_code=CREATED,
    operation_id="reconstruct",
    tags=["persons"],
    summary="Create a reconstruction",
    security=CREDENTIALS_REQUIRED,
    responses=EXISTING_PERSON | error_responses(409, 413, 415),
    response_description="The new reconstruction, at version 1.",
    response_headers=LOCATION_HEADERS,
)
async def reconstruct(context: InjectedContext, data: JSONBody[ReconstructRequest]) -> Response[CreatedPerson]:
    """Create a reconstruction: what a curator or an algorithm concludes from observations. The same inputs always give
    the same PRID.
    """
    origin, reconstruction = context.request.origin, data.to_domain()
    person = await use.reconstruct(
        context.registry,
        context.agent,
        reconstruction.observation_ids,
        reconstruction.curator_id,
        reconstruction.timestamp,
        reconstruction,
    )
    return await created_response(context, origin, person)


@put(
    "/{ppid:str}",
    operation_id="revisePerson",
    tags=["persons"],
    summary="Revise a reconstruction",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The current state of the reconstruction.",
    response_headers=[ETAG_HEADER],
)
async def revise(
    context: InjectedContext, ppid: Ppid, data: JSONBody[ReviseRequest], if_match: IfMatch = None
) -> Response[PersonResponse]:
    """Revise a reconstruction as a new version of its PRID. The old version stays readable.

    The response names what the new version no longer has.
    """
    name, reconstruction = decode_name(ppid), data.to_domain()
    with expect_version(if_match) as version:
        before = await _newest_version(context, name)
        revised = await use.revise_reconstruction(
            context.registry,
            context.agent,
            name,
            reconstruction.observation_ids,
            reconstruction.curator_id,
            reconstruction.timestamp,
            reconstruction,
            expected_version=version,
            note=data.reason,
        )
    return await person_response(context, name, await _list_dropped(context, name, before, revised))


@put(
    "/{ppid:str}/links",
    operation_id="replaceLinks",
    tags=["persons"],
    summary="Replace links",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The current state of the reconstruction.",
    response_headers=[ETAG_HEADER],
)
async def link(
    context: InjectedContext, ppid: Ppid, data: JSONBody[ReplaceLinksRequest], if_match: IfMatch = None
) -> Response[PersonResponse]:
    """Replace the links of a person to other systems, as a new version that keeps everything else."""
    name = decode_name(ppid)
    links = [link.to_domain() for link in data.links]
    with expect_version(if_match) as version:
        before = await _newest_version(context, name)
        revised = await use.replace_links(
            context.registry, context.agent, name, links, expected_version=version, note=data.reason
        )
    return await person_response(context, name, await _list_dropped(context, name, before, revised))


@patch(
    "/{ppid:str}/links",
    operation_id="changeLinks",
    tags=["persons"],
    summary="Add and drop links",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The current state of the reconstruction.",
    response_headers=[ETAG_HEADER],
)
async def change_links(
    context: InjectedContext, ppid: Ppid, data: JSONBody[ChangeLinksRequest], if_match: IfMatch = None
) -> Response[PersonResponse]:
    """Add and drop single links of a person, as a new version that keeps everything else."""
    name = decode_name(ppid)
    add, drop = [link.to_domain() for link in data.add], [link.to_domain() for link in data.drop]
    with expect_version(if_match) as version:
        before = await _newest_version(context, name)
        revised = await use.change_links(
            context.registry, context.agent, name, add, drop, expected_version=version, note=data.reason
        )
    return await person_response(context, name, await _list_dropped(context, name, before, revised))


async def _newest_version(context: ApiContext, name: str) -> int:
    return (await use.show_person(context.registry, name, by=context.agent)).newest


async def _list_dropped(context: ApiContext, name: str, before: int, version: int) -> list[DroppedItem]:
    """List what a new version dropped. A change without effect made none."""
    return [] if version == before else await use.list_dropped(context.registry, name, version, by=context.agent)


@post(
    "/{ppid:str}/merge",
    status_code=200,
    operation_id="mergePerson",
    tags=["persons"],
    summary="Merge reconstructions",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The current state of the surviving reconstruction.",
    response_headers=[ETAG_HEADER],
)
async def merge(
    context: InjectedContext, ppid: Ppid, data: JSONBody[MergeRequest], if_match: IfMatch = None
) -> Response[PersonResponse]:
    """Merge two reconstructions of one person. This one is merged `into` the other and redirects to it."""
    name = decode_name(ppid)
    with expect_version(if_match) as version:
        merged_at = await use.merge(
            context.registry,
            context.agent,
            name,
            data.into,
            data.to_curation(),
            data.reason,
            expected_version=version,
        )
    merged = await _newest_version(context, name)
    into = [(data.into, merged_at)]
    dropped = await use.list_dropped(context.registry, name, merged, by=context.agent, into=into)
    dropped += await use.list_dropped(context.registry, data.into, merged_at, by=context.agent)
    return await person_response(context, data.into, dropped)


@post(
    "/{ppid:str}/split",
    status_code=CREATED,
    operation_id="splitPerson",
    tags=["persons"],
    summary="Split a reconstruction",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The new persons, each with its own PRID.",
)
async def split(
    context: InjectedContext, ppid: Ppid, data: JSONBody[SplitRequest], if_match: IfMatch = None
) -> Response[SplitResponse]:
    """Split a reconstruction into several persons. Each gets some of the observations, with their claims."""
    origin, name = context.request.origin, decode_name(ppid)
    with expect_version(if_match) as version:
        persons = await use.split(
            context.registry,
            context.agent,
            name,
            data.parts,
            data.to_curation(),
            data.reason,
            expected_version=version,
        )
    into = [(person.name, 1) for person in persons]
    withdrawn = await _newest_version(context, name)
    dropped = await use.list_dropped(context.registry, name, withdrawn, by=context.agent, into=into)
    parts = tuple(build_created_person(origin, person) for person in persons)
    return Response(SplitResponse(persons=parts, dropped=tuple(dropped)), status_code=CREATED)


@post(
    "/{ppid:str}/undo",
    status_code=200,
    operation_id="undoPerson",
    tags=["persons"],
    summary="Undo a merge or a split",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The restored reconstruction.",
    response_headers=[ETAG_HEADER],
)
async def undo(
    context: InjectedContext, ppid: Ppid, data: JSONBody[UndoRequest], if_match: IfMatch = None
) -> Response[PersonResponse]:
    """Restore a reconstruction that was merged into another or split."""
    name = decode_name(ppid)
    view = (await use.show_person(context.registry, name)).view
    with expect_version(if_match) as version:
        if view.tombstone is not None and view.tombstone.successors:
            curation = None if data.curator_id is None else data.to_curation()
            await use.undo_split(context.registry, context.agent, name, data.reason, curation, expected_version=version)
        else:
            await use.undo_merge(
                context.registry, context.agent, name, data.to_curation(), data.reason, expected_version=version
            )
    return await person_response(context, name)


@post(
    "/{ppid:str}/restrict",
    status_code=200,
    operation_id="restrictPerson",
    tags=["persons"],
    summary="Restrict a person",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The person, as visible to you.",
    response_headers=[ETAG_HEADER],
)
async def restrict(
    context: InjectedContext, ppid: Ppid, data: JSONBody[RestrictRequest], if_match: IfMatch = None
) -> Response[PersonResponse]:
    """Hide the content of a person from callers without permission to edit.

    The restriction, its date and its reason are public. The observations of a reconstruction, and reconstructions that
    were merged into it, still show the person, and the response names them. With `with_observations`, they are
    restricted too.
    """
    name = decode_name(ppid)
    with expect_version(if_match) as version:
        before = (await use.show_person(context.registry, name, by=context.agent)).view.reconstruction
        await use.restrict(
            context.registry,
            context.agent,
            name,
            data.reason,
            with_observations=data.with_observations,
            expected_version=version,
        )
    sources = () if before is None else (*before.observation_ids, *before.replaces)
    showing = await use.list_public_persons(context.registry, sources)
    return await person_response(context, name, still_public=showing)


@post(
    "/{ppid:str}/lift-restriction",
    status_code=200,
    operation_id="liftRestriction",
    tags=["persons"],
    summary="Lift a restriction",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The person, as visible to the public.",
    response_headers=[ETAG_HEADER],
)
async def lift_restriction(
    context: InjectedContext, ppid: Ppid, data: JSONBody[LiftRestrictionRequest], if_match: IfMatch = None
) -> Response[PersonResponse]:
    """Lift a restriction. The restriction and its reason stay in the history."""
    name = decode_name(ppid)
    with expect_version(if_match) as version:
        await use.lift_restriction(context.registry, context.agent, name, data.reason, expected_version=version)
    return await person_response(context, name)


@post(
    "/{ppid:str}/redact",
    status_code=200,
    operation_id="redactPerson",
    tags=["persons"],
    summary="Redact a person",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The remaining content.",
    response_headers=[ETAG_HEADER],
)
async def redact(
    context: InjectedContext, ppid: Ppid, data: JSONBody[RedactPersonRequest], if_match: IfMatch = None
) -> Response[PersonResponse]:
    """Remove the content of every version permanently. The redaction, its reason and its date stay."""
    name = decode_name(ppid)
    with expect_version(if_match) as version:
        _, others = await use.redact(context.registry, context.agent, name, data.reason, expected_version=version)
    return await person_response(context, name, redacted_too=others)
