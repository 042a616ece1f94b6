"""Resumption tokens (section 3.5): the whole state of an incomplete list, so that the server stores nothing.

>>> token = ListToken(verb="ListRecords", after=1736418600000001, cursor=100, set="handle")
>>> parse_token(format_token(token)) == token
True
"""

import base64
import binascii
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from perdure.http.oai_pmh.protocol_errors import ProtocolError

Number = Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
Count = Annotated[int, Meta(ge=0, le=1 << 62)]
Text = Annotated[str, Meta(max_length=4096)]
_LONGEST: Final = 8192


class ListToken(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The rest of a list: after which number, how many records came before, and what the first request selected."""

    verb: Literal["ListRecords", "ListIdentifiers", "ListSets"]
    after: Number
    cursor: Count
    before: Number | None = None
    set: Text | None = None


_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_decode: Final = msgspec.json.Decoder(ListToken).decode


def format_token(token: ListToken) -> str:
    """Return a token as text."""
    return base64.urlsafe_b64encode(_encode(token)).decode("ascii").rstrip("=")


def parse_token(text: str) -> ListToken:
    """Return a token. Raise ProtocolError unless the text is one that this server writes."""
    try:
        if len(text) > _LONGEST or not text.isascii():
            raise ValueError
        token = _decode(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
    except (ValueError, binascii.Error):  # errors of msgspec are ValueErrors too
        token = None
    if token is None or format_token(token) != text:
        raise ProtocolError("badResumptionToken", "the resumption token is not one of this repository: begin again")
    return token
