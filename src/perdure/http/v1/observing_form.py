"""New observations with the file that they were read from, uploaded in the same request."""

import msgspec

from perdure.errors import InvalidInput
from perdure.http.authentication.channel import is_from_another_site
from perdure.http.message import Response
from perdure.http.pulse import Limit
from perdure.http.refusals import BodyTooSlow, FromAnotherSite
from perdure.http.v1.asking import Asking
from perdure.http.v1.bodies import read_body
from perdure.http.v1.observing import observe_sent
from perdure.http.v1.person_bodies import NewObservation
from perdure.http.v1.sent_form import SentForm
from perdure.registry.persons import observe_many


async def observed_in_form(asking: Asking) -> Response:
    """The answer to what was observed, and to the content that came with it."""
    request, options = asking.request, asking.service.options
    # A page of another site may send forms without asking, and a browser adds the credentials that it remembers. It may
    # not send JSON so: this is the one way of writing that needs to be guarded.
    if is_from_another_site(request):
        raise FromAnotherSite()
    request.check_encoding()
    form = SentForm(request.header(b"content-type") or "", options.body_bytes, options.content_bytes)
    length = request.header(b"content-length")
    if length is not None and length.isdigit():
        form.announce(int(length))
    await observe_many(asking.registry, asking.agent, (), dry_run=True)  # refuses who may not, before anything is read
    asking.service.pulse.let_go()  # a file takes longer to come than anything else that is asked
    try:
        with Limit(asking.service.pulse, options.content_seconds):
            async for piece in request.stream():
                form.feed(piece)
    except TimeoutError:
        raise BodyTooSlow() from None
    with Limit(asking.service.pulse, options.request_seconds):
        status, person, headers = await observe_sent(asking, _with_content(*form.end()))
        return Response(status, msgspec.json.encode(person), [(b"content-type", b"application/json"), *headers])


def _with_content(written: bytes, digest: str) -> NewObservation:
    seen: NewObservation = read_body(NewObservation, written)
    if seen.content is not None:
        raise InvalidInput("ppid", "content", "the content is there twice: in the observation, and as a part")
    if seen.content_hash not in (None, digest):
        reason = f"the content that was sent has another SHA-256, {digest}: is it the right file?"
        raise InvalidInput("ppid", "content_hash", reason)
    return msgspec.structs.replace(seen, content_hash=digest)
