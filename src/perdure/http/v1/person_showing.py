"""From what the registry gives about persons to what clients are told."""

from litestar import Response
from msgspec.structs import replace

from perdure.errors import InvalidName, NoSuchName
from perdure.http.v1.asking import ROOT, Asking, etag
from perdure.http.v1.person_told import (
    FoundPerson,
    FoundPersons,
    NewPerson,
    ShownObservation,
    ShownPerson,
    Validation,
)
from perdure.names import ppid, recognise
from perdure.registry import show
from perdure.registry.looking import View
from perdure.registry.persons import Person, PersonView, show_person
from perdure.registry.persons.finding import FoundPerson as Hit


def place_of_person(name: str) -> str:
    """Where a person is found in this interface."""
    return f"{ROOT}/{name}"


def new_person(origin: str, person: Person) -> NewPerson:
    return NewPerson(ppid=person.name, uuid_raw=str(person.uuid_raw), uri=f"{origin}/{person.name}")


def shown_person(origin: str, person: PersonView) -> ShownPerson:
    view = person.view
    return ShownPerson(
        ppid=view.name,
        type="POID" if view.name.startswith("POID") else "PRID",
        uri=f"{origin}/{view.name}",
        state=view.state,
        version=view.version,
        newest=person.newest,
        authority=view.authority,
        uuid_raw=view.uuid_raw,
        observation=view.observation,
        reconstruction=view.reconstruction,
        restriction=view.restriction,
        redaction=view.redaction,
        tombstone=view.tombstone,
    )


def shown_observation(origin: str, view: View) -> ShownObservation:
    return ShownObservation(
        ppid=view.name,
        uri=f"{origin}/{view.name}",
        state=view.state,
        uuid_raw=view.uuid_raw,
        observation=view.observation,
        restriction=view.restriction,
        redaction=view.redaction,
        tombstone=view.tombstone,
    )


def found_persons(origin: str, hits: list[Hit], next: str | None = None) -> FoundPersons:
    return FoundPersons(
        found=tuple(
            FoundPerson(ppid=hit.name, uri=f"{origin}/{hit.name}", state=hit.state, names=hit.names) for hit in hits
        ),
        next=next,
    )


def tag_of(person: PersonView) -> str:
    """The version. Of an old one the newest as well: whether it may be shown is a question of today."""
    return etag(person.view.version) if person.is_newest else f'"{person.view.version}-{person.newest}"'


async def told_person(asking: Asking, name: str, status: int = 200) -> Response[ShownPerson]:
    """A person as they are now, and where that is found, which need not be where it was asked for."""
    person = await show_person(asking.registry, name, by=asking.by)
    headers = {
        "etag": tag_of(person),
        "content-location": place_of_person(person.view.name),
        "cache-control": "no-cache",
        "vary": "authorization",
    }
    return Response(shown_person(asking.request.origin, person), status_code=status, headers=headers)


async def validation(asking: Asking, text: str) -> Validation:
    """What can be said of a text, whatever it is."""
    valid, message = ppid.validate_ppid_full(text)
    told = Validation(ppid=text, valid=valid, message=message, exists=False)
    try:
        right = ppid.canonical(text)
    except InvalidName as problem:
        return await _meant(asking, replace(told, reason=problem.reason), text)
    try:
        await show(asking.registry, right)
    except NoSuchName as problem:
        return replace(told, canonical=right, suggestions=problem.suggestions)
    return replace(told, canonical=right, exists=True)


async def _meant(asking: Asking, told: Validation, text: str) -> Validation:
    """With what is right: the spelling to which the resolver leads, or the only name that these digits can be."""
    found = recognise(text)
    if found.scheme != "ppid":
        return told
    meant = found.canonical or str(found.details.get("suggestion", ""))
    known = meant and await asking.registry.store.lookup(meant) is not None
    return replace(told, canonical=found.canonical, suggestions=(meant,) if known else ())
