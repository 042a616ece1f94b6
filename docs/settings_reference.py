"""Write the settings reference from the types that read `perdure.toml`: `make docs-reference`."""

# ruff: noqa: E501  (the rows of Markdown tables are long)

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import inspect

from perdure.settings_file import SettingsFile

_HEAD: Final = """\
# Settings

The settings of a registry are in the file `perdure.toml` in its folder. `perdure init` writes the file with comments. Every key is optional, except `id`. An unknown key, or a value outside its bounds, is an error that names the key.
Restart the server after a change.

This page is generated from the types that read the file."""
# Sections that need a sentence of their own.
_SECTIONS: Final = {
    "registry": "The identity of the registry, and its store. `perdure init` writes this section.",
    "metadata": "Values of Handle records that contain [authority metadata](../explanation/authority-metadata.md).",
    "minting": "Limits for time. `longest_wait` is in seconds and `largest_gap_days` in days; both are between 0 and 86,400. `steps_ahead` is between 1 and 86,400. See [Minting](../explanation/minting.md).",
    "persons": "The IRIs of persons and terms in [linked data](resolver.md#linked-data), and the sources of observations. Each IRI must be a web address that ends in `/` or `#`. The base of the IRIs of persons [never changes](../decisions/persons.md#linked-data).",
    "limits": "Limits for records. A value beyond a limit is refused with 400 or 422.",
    "http": "The [server](../how-to/serve.md). A slow or hostile client must not affect other clients; therefore every resource has a limit.",
    "postgresql": "Connections to [PostgreSQL](../how-to/postgresql.md). Each time limit ends a wait that would otherwise have no end.",
}

_TAIL: Final = """\
## Responses beyond a limit

| resource | limit | response |
|---|---|---|
| the URL | `url_bytes` | 414 |
| the headers | `header_bytes` and `headers` | 431 |
| the time to send the headers | `header_seconds` | 408 |
| a body | `body_bytes`; for bulk requests `bulk_bytes` | 413 |
| trailers, and the bytes between chunks | `url_bytes` and `header_bytes` together | 431, and the connection is closed |
| the encoding of a body | plain or chunked; no `Content-Encoding`, no other `Transfer-Encoding` | 415; 501 and the connection is closed |
| the average speed of a bulk body, after `request_seconds` | `bulk_bytes_per_second` | 408 |
| bulk requests of one agent at the same time | 8 for each worker | 429 |
| a file that is uploaded to be hashed | `content_bytes` and `content_seconds` | 413, 408 |
| waiting searches, while each worker runs two at a time | 8 for one address; 64 for all addresses | 429, 503, with `Retry-After` |
| the time for one request | `request_seconds`; not for bulk requests and uploads | 503. A write may have been done or not |
| the wait for the date of a new name | half of `request_seconds` | 503, and no name is created |
| a connection without a request | `idle_seconds` | the connection is closed |
| a client that does not read its response | `stall_seconds` | the connection is closed |
| connections | `connections` for each worker | 503 |
| values of a record, its size, the size of one value | `[limits]` | 400, 422 |

Each worker processes two bulk bodies at a time, and only one of each agent. A body that is waiting for its next part does not occupy one of these two slots, so a slow import does not delay others."""


def reference() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for section in msgspec.structs.fields(SettingsFile):
        parts.append(f"## `[{section.name}]` {{ #{section.name} }}")
        if section.name in _SECTIONS:
            parts.append(_SECTIONS[section.name])
        parts.append("\n".join(_table(section.name, section.type)))
    parts.append(_TAIL)
    return "\n\n".join(parts)


def list_keys() -> Iterator[tuple[str, str]]:
    """Yield every section and key of the file."""
    for section in msgspec.structs.fields(SettingsFile):
        for field in msgspec.structs.fields(section.type):
            yield section.name, field.name


def _table(name: str, section: type[msgspec.Struct]) -> Iterator[str]:
    yield "| key | type | default | bounds | meaning |"
    yield "|---|---|---|---|---|"
    for field in msgspec.structs.fields(section):
        info = inspect.type_info(field.type)
        cells = [f"`{field.name}`", _type(info), _default(field), _bounds(field.name, info)]
        cells.append(_description(info))
        yield f"| {' | '.join(cells)} |"


def _bare(info: Any) -> Any:
    return info.type if isinstance(info, inspect.Metadata) else info


def _type(info: Any) -> str:
    bare = _bare(info)
    if isinstance(bare, inspect.VarTupleType | inspect.ListType):
        return f"list of {_type(bare.item_type)}s"
    return {
        inspect.BoolType: "boolean",
        inspect.IntType: "integer",
        inspect.FloatType: "number",
        inspect.StrType: "string",
        inspect.LiteralType: "string",
    }[type(bare)]


def _default(field: Any) -> str:
    if field.default is msgspec.NODEFAULT:
        return "required"
    if field.default in ("", ()):
        return "none"
    written = msgspec.json.encode(field.default).decode()
    if isinstance(field.default, tuple):
        return f"`{written.replace(',', ', ')}`"
    unit = _in_units(field.name, field.default)
    return f"`{written}` ({unit})" if unit else f"`{written}`"


def _bounds(name: str, info: Any) -> str:
    bare = _bare(info)
    if isinstance(item := getattr(bare, "item_type", None), inspect.LiteralType):
        return ", ".join(f"`{value}`" for value in item.values)
    bounds = []
    for sign, field in (("≥", "ge"), (">", "gt"), ("≤", "le"), ("<", "lt")):
        bound = getattr(bare, field, None)
        if bound is not None:
            bounds.append(f"{sign} {_in_units(name, bound) or f'{bound:,}'}")
    return ", ".join(bounds)


def _in_units(name: str, number: Any) -> str:
    """Return a size in bytes in the largest unit that divides it."""
    if not name.endswith("_bytes"):
        return ""
    for shift, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number and number % (1 << shift) == 0:
            return f"{number >> shift:,} {unit}"
    return ""


def _description(info: Any) -> str:
    """Return the description of a field on one line, if its type has one."""
    extra = getattr(info, "extra_json_schema", None) or {}
    return re.sub(r"\s+", " ", extra.get("description", "")).replace("|", "\\|")


if __name__ == "__main__":
    print(reference())
