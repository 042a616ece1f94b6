"""Reader and writer of the batch-file language of Handle servers.

A file consists of blocks, each ended by a blank line: `CREATE name` and lines of values, `ADD`, `MODIFY`, `REMOVE
1,2:name`, `DELETE name`. Blocks that authenticate or that home prefixes are for a server, and are skipped.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from perdure.errors import quote_text
from perdure.formats.import_entries import Entry, ImportEdit, ImportPut, Notice, RejectedLine
from perdure.records.value import Admin, AdminRights, Data, Reference, Text, Value, ValueList

_VALUE: Final = re.compile(
    r"([0-9]+)[ \t]+([^ \t]+)[ \t]+([^ \t]+)[ \t]+([01]{4})[ \t]+([A-Z0-9]+)(?:[ \t](.*))?", re.DOTALL
)
_WHOLE: Final = re.compile(r"[0-9]{1,10}")
_OPERATION: Final = re.compile(r"(CREATE|ADD|MODIFY|DELETE|REMOVE)[ \t]+(.*)")
_FOR_SERVERS: Final = re.compile(r"(AUTHENTICATE|SESSIONSETUP|HOME|UNHOME)\b")
_AUTHENTICATE: Final = "AUTHENTICATE"
_REMOVAL: Final = re.compile(r"([0-9]{1,10}(?:,[0-9]{1,10})*):(.*)")
_ADMIN: Final = re.compile(r"([0-9]{1,10}):([01]{12}):(.+)")
_REFERENCE: Final = re.compile(r"([0-9]{1,10}):(.+)")
_ACTS: Final[dict[str, Literal["add", "modify"]]] = {"ADD": "add", "MODIFY": "modify"}


def read(lines: Iterable[tuple[int, str]]) -> Iterator[Entry]:
    """Yield the operations of a batch file, given its lines and their numbers."""
    block: list[tuple[int, str]] = []
    secret_follows = False
    for number, line in lines:
        if secret_follows:  # it is never parsed, whatever it looks like
            secret_follows = not line.strip()
            continue
        if line.startswith(_AUTHENTICATE):
            yield from _parse_block(block)
            yield from _parse_block([(number, line)])
            block, secret_follows = [], True
        elif line.strip():
            # An operation may follow the previous one without a blank line.
            if block and (_OPERATION.match(line) or _FOR_SERVERS.match(line)):
                yield from _parse_block(block)
                block = []
            block.append((number, line))
        elif block:
            yield from _parse_block(block)
            block = []
    if block:
        yield from _parse_block(block)


def _parse_block(block: list[tuple[int, str]]) -> Iterator[Entry]:
    if not block:
        return
    number, first = block[0]
    server = _FOR_SERVERS.match(first)
    if server:
        yield Notice(number, f"{server[1]} is for a Handle server, and was skipped")
        return
    match = _OPERATION.fullmatch(first.rstrip())
    if match is None:
        yield RejectedLine(
            number, f"unknown operation {quote_text(first.split(' ')[0])}: use CREATE, ADD, MODIFY, REMOVE or DELETE"
        )
        return
    operation, rest = match[1], match[2].strip()
    if operation == "DELETE":
        yield from _require_single_line(block, ImportEdit(line=number, name=rest, act="delete"))
    elif operation == "REMOVE":
        yield from _parse_removal(block, rest)
    else:
        yield _parse_values(block, operation, rest)


def _require_single_line(block: list[tuple[int, str]], entry: Entry) -> Iterator[Entry]:
    yield entry
    if len(block) > 1:
        yield RejectedLine(block[1][0], "this operation takes no values: end it with a blank line")


def _parse_removal(block: list[tuple[int, str]], rest: str) -> Iterator[Entry]:
    number = block[0][0]
    match = _REMOVAL.fullmatch(rest)
    if match is None:
        yield RejectedLine(number, "REMOVE is followed by indexes and a name, as in REMOVE 2,3:12345/abc")
        return
    indexes = tuple(int(index) for index in match[1].split(","))
    yield from _require_single_line(block, ImportEdit(line=number, name=match[2], act="remove", indexes=indexes))


def _parse_values(block: list[tuple[int, str]], operation: str, name: str) -> Entry:
    number = block[0][0]
    values = []
    for at, line in block[1:]:
        value = _parse_value(line.rstrip("\r\n"))
        if isinstance(value, str):
            return RejectedLine(at, value, name)
        values.append(value)
    if operation == "CREATE":
        return ImportPut(line=number, name=name, values=tuple(values))
    if not values:
        return RejectedLine(number, f"{operation} needs at least one line with a value", name)
    return ImportEdit(line=number, name=name, act=_ACTS[operation], values=tuple(values))


def _parse_value(line: str) -> Value | str:
    """Return the value, or why the line is invalid. The reason never contains the data, which may be a secret."""
    match = _VALUE.fullmatch(line)
    if match is None:
        return "a value is written as: index type ttl permissions FORM data, as in 1 URL 86400 1110 UTF8 https://…"
    index, kind, ttl, permissions, form, rest = match.groups()
    if _WHOLE.fullmatch(index) is None or _WHOLE.fullmatch(ttl) is None:
        return "the index and the TTL must be whole numbers"
    data = _parse_data(form, rest or "")
    if isinstance(data, str):
        return data
    return Value(int(index), kind, data, "", int(ttl), permissions)


def _parse_data(form: str, text: str) -> Data | str:
    if form == "UTF8":
        return Text(text)
    if form == "ADMIN":
        match = _ADMIN.fullmatch(text.strip())
        if match is None:
            return "ADMIN is followed by index:permissions:handle, with twelve permissions"
        return Admin(AdminRights(match[3], int(match[1]), match[2][::-1]))
    if form == "LIST":
        references = []
        for part in filter(None, text.strip().split(";")):
            match = _REFERENCE.fullmatch(part)
            if match is None:
                return "LIST is followed by index:handle;index:handle;"
            references.append(Reference(match[2], int(match[1])))
        return ValueList(tuple(references))
    if form == "FILE":
        return "FILE is not supported, because it would read a file on this machine: put the data into the line"
    return f"unsupported form of data {quote_text(form)}: use UTF8, ADMIN or LIST"


def write(name: str, values: Iterable[Value]) -> tuple[list[str], list[str]]:
    """Return the block that creates a handle, and what it cannot express: binary data, and text of several lines."""
    lines, left_out = [f"CREATE {name}"], []
    for value in values:
        line = f"{value.index} {value.type} {value.ttl} {value.permissions} {_format_data(value.data)}"
        bare = msgspec.structs.replace(value, timestamp="", references=())
        is_padded = value.text is not None and value.text != value.text.strip()  # other programs strip the spaces
        if is_padded or re.search(r"[\r\n]", line) or _parse_value(line) != bare:
            # It would be parsed as another value, or rejected.
            left_out.append(f"value {value.index} ({value.type}) of {name} cannot be written in the batch language")
        else:
            lines.append(line)
    return [*lines, ""], left_out


def _format_data(data: Data) -> str:
    if isinstance(data, Text):
        return f"UTF8 {data.value}"
    if isinstance(data, Admin):
        rights = data.value
        return f"ADMIN {rights.index}:{rights.permissions[::-1]}:{rights.handle}"
    if isinstance(data, ValueList):
        return "LIST " + "".join(f"{reference.index}:{reference.handle};" for reference in data.value)
    return ""  # bytes have no form in this language
