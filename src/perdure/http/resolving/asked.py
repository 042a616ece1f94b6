"""What a request asks for beyond a name: the parameters that proxies of the Handle System take."""

from typing import Final

import msgspec

from perdure.errors import shown
from perdure.http.message import Request, one_parameter
from perdure.http.refusals import Malformed
from perdure.http.wanted import ALL, Wanted, check_number, wanted

# All that is looked at; what else stands in a query is passed over.
PARAMETERS: Final = frozenset(
    {"action", "auth", "cert", "ignore_aliases", "index", "info", "locatt", "noredirect", "type", "urlappend"}
)
_OFF: Final = frozenset({"false", "no", "off", "0"})
_METADATA: Final = ("role", "metadata")
_LONGEST_INDEX: Final = 10  # digits; an index has 32 bits
_MOST_ATTRIBUTES: Final = 64  # each is compared with every location


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """`attributes` are those that a location must have; `append` goes behind the target."""

    info: bool = False  # the page about the identifier, whatever it is
    shows_values: bool = False
    lists_locations: bool = False
    ignores_aliases: bool = False
    values: Wanted = ALL
    append: str = ""
    attributes: tuple[tuple[str, str], ...] = ()

    @property
    def restricts(self) -> bool:
        return self.values.restricts


_NOTHING: Final = Asked()


def asked_for(request: Request) -> Asked:
    """`auth` and `cert` are taken and change nothing: every answer comes from the registry itself, as it is now."""
    if not request.query:
        return _NOTHING
    parameters = request.parameters()

    def has(name: str) -> bool:
        return any(key == name and value.lower() not in _OFF for key, value in parameters)

    def every(name: str) -> list[str]:
        return [value for key, value in parameters if key == name]

    action = one_parameter(parameters, "action") or ""
    attributes = tuple(dict.fromkeys(map(_attribute, every("locatt"))))
    check_number(len(attributes), _MOST_ATTRIBUTES, "attributes of locations")
    return Asked(
        info=has("info"),
        shows_values=has("noredirect") or action == "showvalues",
        lists_locations=action == "showurls",
        ignores_aliases=has("ignore_aliases"),
        values=wanted(filter(None, every("type")), map(_index, every("index"))),
        append=one_parameter(parameters, "urlappend") or "",
        attributes=attributes + ((_METADATA,) if action == "metadata" else ()),
    )


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_INDEX):
        raise Malformed(f"the index {shown(text)} is no number")
    return int(text)


def _attribute(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise Malformed(f"locatt is written name:value, as in locatt=country:nz, not {shown(text)}")
    return name, value
