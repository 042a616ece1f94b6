"""New observations over HTTP. Like minting, this goes past the framework, which has it for the document only."""

from typing import Final

import msgspec
from litestar import Response, post
from litestar.datastructures import ResponseHeader
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody

from perdure.http.message import Headers
from perdure.http.message import Response as Answer
from perdure.http.v1.asking import KEY, Asking, FromDoor, etag, problems
from perdure.http.v1.bodies import read_body
from perdure.http.v1.person_bodies import NewObservation
from perdure.http.v1.person_showing import new_person, place_of_person
from perdure.http.v1.person_told import NewPerson
from perdure.registry.persons import Person, observe, show_person

CREATED: Final = 201
KNOWN: Final = {
    200: ResponseSpec(NewPerson, generate_examples=False, description="The same inputs have led to this one before.")
}
PLACE: Final = [
    ResponseHeader(name="Location", documentation_only=True, description="Where its record is."),
    ResponseHeader(name="ETag", documentation_only=True, description="Its version."),
]
_encode: Final = msgspec.json.Encoder().encode
_JSON: Final = (b"content-type", b"application/json")


async def observed(asking: Asking) -> Answer:
    """The answer to what was observed."""
    seen: NewObservation = read_body(NewObservation, await asking.request.body())
    status, person, headers = await observe_sent(asking, seen)
    return Answer(status, _encode(person), [_JSON, *headers])


@post(
    "/poid",
    status_code=CREATED,
    operation_id="observe",
    tags=["persons"],
    summary="Observe",
    security=KEY,
    responses=KNOWN | problems(409, 413, 415),
    response_description="A new observation. It never changes.",
    response_headers=PLACE,
)
async def observe_person(asking: FromDoor, data: JSONBody[NewObservation]) -> Response[NewPerson]:
    """What a source shows of a person. The same inputs always lead to the same POID; what it says never changes."""
    status, person, headers = await observe_sent(asking, data)
    return Response(person, status_code=status, headers={key.decode(): value.decode() for key, value in headers})


async def observe_sent(asking: Asking, seen: NewObservation) -> tuple[int, NewPerson, Headers]:
    """The status, the identifier and the headers of the answer to what was sent."""
    origin = asking.request.origin  # which may be refused, and then nothing is written
    person = await observe(
        asking.registry,
        asking.agent,
        seen.source_url,
        seen.retrieval_timestamp,
        seen.digest(),
        source_name=seen.source_name,
        holding_archive=seen.holding_archive,
        claims=[claim.stated() for claim in seen.claims],
    )
    return (CREATED if person.created else 200), new_person(origin, person), await place_headers(asking, person)


async def place_headers(asking: Asking, person: Person) -> Headers:
    """Where it is found, and its version."""
    version = 1 if person.created else (await show_person(asking.registry, person.name)).newest
    return [
        (b"cache-control", b"no-store"),
        (b"location", place_of_person(person.name).encode()),
        (b"etag", etag(version).encode()),
    ]
