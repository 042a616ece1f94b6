"""/api/verifications: check the proof of an identity whose key is in this registry."""

import re
from typing import Final

from perdure.errors import BadKey, InvalidName
from perdure.http.handle_api.endpoint import allow_methods
from perdure.http.handle_api.request_context import HandleContext
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.request import Response
from perdure.http.shared.responses import SUCCESS
from perdure.names.handle import unescape

_IDENTITY: Final = re.compile(r"([0-9]{1,10}):(.+/.+)", re.DOTALL)


@allow_methods("GET", "HEAD", "POST")
async def verifications(context: HandleContext) -> Response:
    """Return whether a proof is valid for the identity that the path names."""
    text = unescape(context.request.rest.removeprefix("/"))
    match = _IDENTITY.fullmatch(text)
    if match is None:
        raise InvalidName("handle", "name", None, "an identity must be an index and a handle, as in 300:12345/admin")
    context.handle = match[2]
    authenticator = context.app.authenticator
    try:
        is_valid = await authenticator.verify(context.request, int(match[1]), match[2], dict(context.parameters.pairs))
    except BadKey as problem:  # the caller does not authenticate here, so it is an error of the request
        raise MalformedRequest(problem.reason) from None
    return context.json_response(200, {"responseCode": SUCCESS, "isValid": is_valid, "handle": match[2]})
