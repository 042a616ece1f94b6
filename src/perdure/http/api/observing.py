"""The endpoint that creates observations, from JSON or from a form with the source file."""

from typing import Final

import msgspec
from litestar import Response, post
from litestar.datastructures import ResponseHeader
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody

from perdure.errors import InvalidInput
from perdure.http.api.litestar_bypass import DIRECT
from perdure.http.api.multipart import ObservationForm
from perdure.http.api.person_views import build_created_person, person_api_path
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, ApiContext, InjectedContext, error_responses
from perdure.http.api.schemas.person_requests import ObserveRequest
from perdure.http.api.schemas.person_responses import CreatedPerson
from perdure.http.api.schemas.requests import parse_body
from perdure.http.auth.transport_policy import is_cross_site
from perdure.http.shared.conditional import version_etag
from perdure.http.shared.cors import is_from_listed_origin
from perdure.http.shared.http_errors import BodyTooSlow, CrossSiteRequest
from perdure.http.shared.timeouts import Timeout
from perdure.registry.persons import Person, observe, observe_many, show_person

CREATED: Final = 201
EXISTING_PERSON: Final = {
    200: ResponseSpec(
        CreatedPerson,
        generate_examples=False,
        description="The observation or reconstruction exists already: the inputs are the same. "
        "It can be withdrawn or merged; then `state` and `tombstone` say so.",
    )
}
LOCATION_HEADERS: Final = [
    ResponseHeader(name="Location", documentation_only=True, description="The URL of the record."),
    ResponseHeader(name="ETag", documentation_only=True, description="The version of the record."),
]


@post(
    "/poid",
    status_code=CREATED,
    opt=DIRECT,
    operation_id="observe",
    tags=["persons"],
    summary="Create an observation",
    security=CREDENTIALS_REQUIRED,
    responses=EXISTING_PERSON | error_responses(409, 413, 415),
    response_description="The new observation, which never changes.",
    response_headers=LOCATION_HEADERS,
)
async def observe_person(context: InjectedContext, data: JSONBody[ObserveRequest]) -> Response[CreatedPerson]:
    """Create an observation: the claims of a source about a person. The same inputs always give the same POID."""
    origin = context.request.origin  # raises an error for an invalid Host, before anything is written
    person = await observe(
        context.registry,
        context.agent,
        data.source_url,
        data.retrieval_timestamp,
        data.digest(),
        source_name=data.source_name,
        holding_archive=data.holding_archive,
        claims=[claim.to_domain() for claim in data.claims],
    )
    return await created_response(context, origin, person)


async def created_response(context: ApiContext, origin: str, person: Person) -> Response[CreatedPerson]:
    """Respond with a person identifier: 201 if it is new, 200 if the same inputs have been sent before."""
    version = 1 if person.created else (await show_person(context.registry, person.name)).newest
    headers = {"cache-control": "no-store", "location": person_api_path(person.name), "etag": version_etag(version)}
    status = CREATED if person.created else 200
    return Response(build_created_person(origin, person), status_code=status, headers=headers)


async def observe_upload(context: ApiContext) -> Response[CreatedPerson]:
    """Create an observation from a form that has the source file too. The file is hashed while it streams."""
    request, options = context.request, context.app.options
    # Browsers let a page of another site send a form without a preflight request, and add stored credentials. They do
    # not allow this for JSON: only this request needs a check of its origin. From the origins in the settings, it is
    # accepted with a key: browsers store none.
    if is_cross_site(request) and not is_from_listed_origin(request):
        raise CrossSiteRequest()
    request.check_encoding()
    form = ObservationForm(request.header(b"content-type") or "", options.body_bytes, options.content_bytes)
    length = request.header(b"content-length")
    if length is not None and length.isdigit():
        form.check_length(int(length))
    # Check the permission before the body is read.
    await observe_many(context.registry, context.agent, (), dry_run=True)
    context.app.deadlines.disarm_current_task()  # uploading a file takes longer than other requests
    try:
        with Timeout(context.app.deadlines, options.content_seconds):
            async for piece in request.stream():
                form.feed(piece)
    except TimeoutError:
        raise BodyTooSlow() from None
    with Timeout(context.app.deadlines, options.request_seconds):
        response: Response[CreatedPerson] = await observe_person.fn(context, data=_with_content_hash(*form.finish()))
        return response


def _with_content_hash(observation_json: bytes, digest: str) -> ObserveRequest:
    observation: ObserveRequest = parse_body(ObserveRequest, observation_json)
    if observation.content is not None:
        raise InvalidInput(
            "ppid", "content", "the content is given twice: in the observation and as a part of the form"
        )
    if observation.content_hash not in (None, digest):
        reason = f"content_hash does not match the file, whose SHA-256 is {digest}: is it the right file?"
        raise InvalidInput("ppid", "content_hash", reason)
    return msgspec.structs.replace(observation, content_hash=digest)
