"""Conversion of persons from registry objects to response schemas."""

from collections.abc import Sequence

from litestar import Response
from msgspec.structs import replace

from perdure.errors import InvalidName, NoSuchName
from perdure.http.api.request_context import ApiContext, validator_headers
from perdure.http.api.schemas.person_responses import (
    CreatedPerson,
    ObservationResponse,
    PersonHit,
    PersonResponse,
    PersonSearchResponse,
    ValidationResponse,
    WithdrawalResponse,
)
from perdure.http.api.views import build_from
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import superseded_etag, version_etag
from perdure.names import ppid, recognise
from perdure.registry import show
from perdure.registry.identifier_view import View
from perdure.registry.persons import DroppedItem, Person, PersonView, show_person
from perdure.registry.persons.person_search import PersonHit as Hit


def person_api_path(name: str) -> str:
    """Return the path of a person in this API."""
    return f"{API_ROOT}/{name}"


def build_created_person(origin: str, person: Person) -> CreatedPerson:
    return CreatedPerson(
        ppid=person.name,
        uuid_raw=str(person.uuid_raw),
        uri=f"{origin}/{person.name}",
        state=ended_state(person),
        tombstone=person.tombstone,
    )


def ended_state(person: Person) -> str | None:
    """Return the state of a person that is not active; None for an active one."""
    return None if person.state == "active" else person.state


def build_person(
    origin: str,
    person: PersonView,
    dropped: Sequence[DroppedItem] = (),
    still_public: Sequence[str] = (),
    redacted_too: Sequence[str] = (),
) -> PersonResponse:
    view = person.view
    return build_from(
        PersonResponse,
        view,
        ppid=view.name,
        type="POID" if view.name.startswith("POID") else "PRID",
        uri=f"{origin}/{view.name}",
        newest=person.newest,
        withdrawal=None if person.withdrawal is None else WithdrawalResponse(**person.withdrawal._asdict()),
        dropped=tuple(dropped),
        public_observations=tuple(one for one in still_public if one.startswith("POID")),
        public_reconstructions=tuple(one for one in still_public if one.startswith("PRID")),
        redacted_too=tuple(redacted_too),
    )


def build_observation(origin: str, view: View) -> ObservationResponse:
    return build_from(ObservationResponse, view, ppid=view.name, uri=f"{origin}/{view.name}")


def build_person_search(origin: str, hits: list[Hit], next: str | None = None) -> PersonSearchResponse:
    return PersonSearchResponse(
        found=tuple(
            PersonHit(ppid=hit.name, uri=f"{origin}/{hit.name}", state=hit.state, names=hit.names) for hit in hits
        ),
        next=next,
    )


def person_etag(person: PersonView) -> str:
    """Return the ETag of a person. An old version includes the newest: its visibility depends on the current state."""
    version = person.view.version
    return version_etag(version) if person.is_newest else superseded_etag(version, person.newest)


async def person_response(
    context: ApiContext,
    name: str,
    dropped: Sequence[DroppedItem] = (),
    still_public: Sequence[str] = (),
    redacted_too: Sequence[str] = (),
) -> Response[PersonResponse]:
    """Respond with the current state of a person, and with its path, which may differ from the path of the request."""
    person = await show_person(context.registry, name, by=context.caller)
    headers = validator_headers(person_etag(person)) | {"content-location": person_api_path(person.view.name)}
    body = build_person(context.request.origin, person, dropped, still_public, redacted_too)
    return Response(body, headers=headers)


async def build_validation(context: ApiContext, text: str) -> ValidationResponse:
    """Validate any text as a PPID, and look it up."""
    valid, message = ppid.validate_ppid_full(text)
    result = ValidationResponse(ppid=text, valid=valid, message=message, exists=False)
    try:
        canonical = ppid.canonical(text)
    except InvalidName as problem:
        return await _with_suggestions(context, replace(result, reason=problem.reason), text)
    try:
        await show(context.registry, canonical)
    except NoSuchName as problem:
        return replace(result, canonical=canonical, suggestions=problem.suggestions)
    return replace(result, canonical=canonical, exists=True)


async def _with_suggestions(context: ApiContext, result: ValidationResponse, text: str) -> ValidationResponse:
    """Add the canonical spelling that the resolver redirects to, or the only registered name with these digits."""
    recognised = recognise(text)
    if recognised.scheme != "ppid":
        return result
    suggestion = recognised.canonical or str(recognised.details.get("suggestion", ""))
    known = suggestion and await context.registry.store.lookup(suggestion) is not None
    return replace(result, canonical=recognised.canonical, suggestions=(suggestion,) if known else ())
