"""Data of typed values as bytes, as Handle servers store it (RFC 3651, section 3): big-endian, lengths before texts."""

import struct
from typing import Final

from perdure.records.value import ADMIN, VALUE_LIST, Admin, AdminRights, Binary, Data, Reference, Text, ValueList

_CONTROLS: Final = frozenset(range(0x20)) - {0x09, 0x0A, 0x0D} | {0x7F}


def from_bytes(type: str, raw: bytes) -> Data:
    """Decode data by its type. Data that does not fit its type remains bytes.

    >>> from_bytes("URL", b"https://example.org/")
    Text(value='https://example.org/')
    """
    try:
        if type == ADMIN:
            return _parse_admin(raw)
        if type == VALUE_LIST:
            return _parse_list(raw)
        if not _CONTROLS.intersection(raw):
            return Text(raw.decode("utf-8"))
    except (ValueError, struct.error):
        pass
    return Binary(raw)


def to_bytes(data: Data) -> bytes:
    """Encode data as `from_bytes` decodes it."""
    if isinstance(data, Text):
        return data.value.encode()
    if isinstance(data, Binary):
        return data.value
    if isinstance(data, Admin):
        rights = data.value
        return (
            struct.pack(">H", int(rights.permissions, 2))
            + _encode_text(rights.handle)
            + struct.pack(">I", rights.index)
        )
    return struct.pack(">I", len(data.value)) + b"".join(
        _encode_text(reference.handle) + struct.pack(">I", reference.index) for reference in data.value
    )


def _parse_admin(raw: bytes) -> Admin:
    (permissions,) = struct.unpack_from(">H", raw)
    handle, end = _read_text(raw, 2)
    (index,) = struct.unpack_from(">I", raw, end)
    if end + 4 != len(raw) or permissions >= 1 << 12:
        raise ValueError("something is left over")
    return Admin(AdminRights(handle, index, f"{permissions:012b}"))


def _parse_list(raw: bytes) -> ValueList:
    (count,) = struct.unpack_from(">I", raw)
    if count > len(raw):
        raise ValueError("more references than bytes")
    references, end = [], 4
    for _ in range(count):
        handle, end = _read_text(raw, end)
        (index,) = struct.unpack_from(">I", raw, end)
        end += 4
        references.append(Reference(handle, index))
    if end != len(raw):
        raise ValueError("something is left over")
    return ValueList(tuple(references))


def _encode_text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">I", len(raw)) + raw


def _read_text(raw: bytes, start: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">I", raw, start)
    end = start + 4 + length
    if end > len(raw):
        raise ValueError("the text is cut off")
    return raw[start + 4 : end].decode("utf-8"), end
