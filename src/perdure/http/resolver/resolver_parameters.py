"""The parameters of the resolver in a query, as proxies of the Handle System take them."""

from typing import Final
from urllib.parse import quote

import msgspec

from perdure.errors import quote_text
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.query_string import single_parameter
from perdure.http.shared.request import Request
from perdure.http.shared.value_filter import ALL_VALUES, ValueFilter, build_value_filter, check_count

# All that are used; others are ignored.
PROXY_PARAMETERS: Final = frozenset(
    {"action", "auth", "cert", "ignore_aliases", "index", "info", "locatt", "noredirect", "type", "urlappend"}
)
_OFF: Final = frozenset({"false", "no", "off", "0"})
_METADATA: Final = ("role", "metadata")
_LONGEST_INDEX: Final = 10  # digits; an index has 32 bits
_MOST_ATTRIBUTES: Final = 64  # each is compared with every location


class ResolverParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed parameters. `attributes` are those that a location must have; `append` is appended to the target."""

    info: bool = False  # the page about the identifier, whatever its state
    shows_values: bool = False
    lists_locations: bool = False
    ignores_aliases: bool = False
    values: ValueFilter = ALL_VALUES
    append: str = ""
    item_query: str = ""  # of the page of a stored item: all its versions, or one of them
    is_record: bool = False  # the record as JSON, which the URL names
    attributes: tuple[tuple[str, str], ...] = ()

    @property
    def restricts(self) -> bool:
        """Return whether only some values are requested."""
        return self.values.restricts


_ALL_VERSIONS: Final = "versions#versions"  # the part of the page that lists them
_NO_PARAMETERS: Final = ResolverParameters()


def parse_resolver_parameters(request: Request) -> ResolverParameters:
    """Return the parameters of a request.

    `auth` and `cert` are accepted and ignored, because every response comes from the registry itself.
    """
    if not request.query:
        return _NO_PARAMETERS
    parameters = request.parameters()

    def has(name: str) -> bool:
        return any(key == name and value.lower() not in _OFF for key, value in parameters)

    def every(name: str) -> list[str]:
        return [value for key, value in parameters if key == name]

    action = single_parameter(parameters, "action") or ""
    item_query = [f"version={quote(value)}" for value in every("version")] + [_ALL_VERSIONS for _ in every("versions")]
    attributes = tuple(dict.fromkeys(map(_parse_attribute, every("locatt"))))
    check_count(len(attributes), _MOST_ATTRIBUTES, "attributes of locations")
    return ResolverParameters(
        info=has("info"),
        shows_values=has("noredirect") or action == "showvalues",
        lists_locations=action == "showurls",
        ignores_aliases=has("ignore_aliases"),
        values=build_value_filter(filter(None, every("type")), map(_parse_index, every("index"))),
        append=single_parameter(parameters, "urlappend") or "",
        item_query=item_query[0] if len(item_query) == 1 else "",
        attributes=attributes + ((_METADATA,) if action == "metadata" else ()),
    )


def _parse_index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_INDEX):
        raise MalformedRequest(f"the index {quote_text(text)} is not a number")
    return int(text)


def _parse_attribute(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise MalformedRequest(f"locatt must be name:value, as in locatt=country:nz, not {quote_text(text)}")
    return name, value
