"""The batch-file language of Handle servers, in both directions.

A file holds blocks, each ended by a blank line: `CREATE name` and lines of values, `ADD`, `MODIFY`, `REMOVE
1,2:name`, `DELETE name`. Blocks that authenticate or that home prefixes are for a server, and are passed over.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from perdure.errors import shown
from perdure.exchange.entry import Edit, Entry, Notice, Put, Refused
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
    """The operations of a batch file, given its lines and their numbers."""
    block: list[tuple[int, str]] = []
    secret_follows = False
    for number, line in lines:
        if secret_follows:  # whatever it looks like, it is read by nobody
            secret_follows = not line.strip()
            continue
        if line.startswith(_AUTHENTICATE):
            yield from _operations(block)
            yield from _operations([(number, line)])
            block, secret_follows = [], True
        elif line.strip():
            # An operation may follow the one before without a blank line between.
            if block and (_OPERATION.match(line) or _FOR_SERVERS.match(line)):
                yield from _operations(block)
                block = []
            block.append((number, line))
        elif block:
            yield from _operations(block)
            block = []
    if block:
        yield from _operations(block)


def _operations(block: list[tuple[int, str]]) -> Iterator[Entry]:
    if not block:
        return
    number, first = block[0]
    server = _FOR_SERVERS.match(first)
    if server:
        yield Notice(number, f"{server[1]} is for a Handle server, and was passed over")
        return
    match = _OPERATION.fullmatch(first.rstrip())
    if match is None:
        yield Refused(
            number, f"this begins no operation: {shown(first.split(' ')[0])} (CREATE, ADD, MODIFY, REMOVE, DELETE)"
        )
        return
    operation, rest = match[1], match[2].strip()
    if operation == "DELETE":
        yield from _alone(block, Edit(line=number, name=rest, act="delete"))
    elif operation == "REMOVE":
        yield from _removal(block, rest)
    else:
        yield _values(block, operation, rest)


def _alone(block: list[tuple[int, str]], entry: Entry) -> Iterator[Entry]:
    yield entry
    if len(block) > 1:
        yield Refused(block[1][0], "this operation has no lines of values; a blank line must end it")


def _removal(block: list[tuple[int, str]], rest: str) -> Iterator[Entry]:
    number = block[0][0]
    match = _REMOVAL.fullmatch(rest)
    if match is None:
        yield Refused(number, "REMOVE is followed by indexes and a name, as in REMOVE 2,3:12345/abc")
        return
    indexes = tuple(int(index) for index in match[1].split(","))
    yield from _alone(block, Edit(line=number, name=match[2], act="remove", indexes=indexes))


def _values(block: list[tuple[int, str]], operation: str, name: str) -> Entry:
    number = block[0][0]
    values = []
    for at, line in block[1:]:
        value = _value(line.rstrip("\r\n"))
        if isinstance(value, str):
            return Refused(at, value, name)
        values.append(value)
    if operation == "CREATE":
        return Put(line=number, name=name, values=tuple(values))
    if not values:
        return Refused(number, f"{operation} needs at least one line with a value", name)
    return Edit(line=number, name=name, act=_ACTS[operation], values=tuple(values))


def _value(line: str) -> Value | str:
    """A value, or what is wrong with the line. Never repeats the data, which may be a secret."""
    match = _VALUE.fullmatch(line)
    if match is None:
        return "a value is written as: index type ttl permissions FORM data, as in 1 URL 86400 1110 UTF8 https://…"
    index, kind, ttl, permissions, form, rest = match.groups()
    if _WHOLE.fullmatch(index) is None or _WHOLE.fullmatch(ttl) is None:
        return "the index and the lifetime must be whole numbers"
    data = _data(form, rest or "")
    if isinstance(data, str):
        return data
    return Value(int(index), kind, data, "", int(ttl), permissions)


def _data(form: str, text: str) -> Data | str:
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
        return "FILE would read a file of this machine, and is refused: put the data into the line"
    return f"{shown(form)} is no form of data (UTF8, ADMIN, LIST)"


def write(name: str, values: Iterable[Value]) -> tuple[list[str], list[str]]:
    """The block that creates a handle, and what it cannot carry: binary data, and text of several lines."""
    lines, left_out = [f"CREATE {name}"], []
    for value in values:
        line = f"{value.index} {value.type} {value.ttl} {value.permissions} {_written(value.data)}"
        bare = msgspec.structs.replace(value, timestamp="", references=())
        is_padded = value.text is not None and value.text != value.text.strip()  # others cut that off
        if is_padded or re.search(r"[\r\n]", line) or _value(line) != bare:
            # It would be read as something else, or not at all.
            left_out.append(
                f"value {value.index} ({value.type}) of {name} is nothing that the batch language can write"
            )
        else:
            lines.append(line)
    return [*lines, ""], left_out


def _written(data: Data) -> str:
    if isinstance(data, Text):
        return f"UTF8 {data.value}"
    if isinstance(data, Admin):
        rights = data.value
        return f"ADMIN {rights.index}:{rights.permissions[::-1]}:{rights.handle}"
    if isinstance(data, ValueList):
        return "LIST " + "".join(f"{one.index}:{one.handle};" for one in data.value)
    return ""  # bytes have no form in this language
