"""/api/verifications: whether a proof that somebody was given is that of an identity whose key is kept here."""

import re
from typing import Final

from perdure.errors import BadKey, InvalidName
from perdure.http.handle_api.codes import SUCCESS
from perdure.http.handle_api.door import door
from perdure.http.handle_api.exchange import Exchange
from perdure.http.message import Response
from perdure.http.refusals import Malformed
from perdure.names.handle import unescape

_ROOT: Final = "/api/verifications"
_IDENTITY: Final = re.compile(r"([0-9]{1,10}):(.+/.+)", re.DOTALL)


@door("GET", "HEAD", "POST")
async def verifications(exchange: Exchange) -> Response:
    asked = unescape(exchange.request.path[len(_ROOT) :].removeprefix("/"))
    match = _IDENTITY.fullmatch(asked)
    if match is None:
        raise InvalidName("handle", "name", None, "an identity is an index and a handle, as in 300:12345/admin")
    exchange.handle = match[2]
    authenticator = exchange.service.authenticator
    try:
        is_valid = await authenticator.verify(
            exchange.request, int(match[1]), match[2], dict(exchange.parameters.pairs)
        )
    except BadKey as problem:  # nobody claims to be anybody here: the question itself is wrong
        raise Malformed(problem.reason) from None
    return exchange.reply(200, {"responseCode": SUCCESS, "isValid": is_valid, "handle": match[2]})
