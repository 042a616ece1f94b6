"""Names of files and directories that Linux, macOS and Windows accept, and the escapes for those that they do not.

An escaped character is written `=uXXXX`, with the four hexadecimal digits of its code; so an equals sign is escaped as
well, and the mapping can be inverted.
"""

import re
from typing import Final

LONGEST_NAME: Final = 255  # bytes, of ext4, XFS, NTFS and APFS
_ESCAPE: Final = re.compile(r"=u([0-9a-f]{4})")
_DEVICE: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\..*)?", re.IGNORECASE | re.DOTALL
)


def is_device_name(name: str) -> bool:
    """Return whether Windows takes a name for that of a device, also with an ending (`nul`, `COM1.txt`)."""
    return _DEVICE.fullmatch(name) is not None


def escape_character(character: str) -> str:
    """Write a character of the Basic Multilingual Plane as its code."""
    return f"=u{ord(character):04x}"


def escape_name(name: str, unsafe: re.Pattern[str]) -> str:
    """Escape the unsafe characters of a name, a device name, and a full stop or a space at its end.

    >>> escape_name("mtc-m18@80", re.compile("[@=]")), escape_name("con.br", re.compile("[@=]"))
    ('mtc-m18=u004080', '=u0063on.br')
    """
    escaped = unsafe.sub(lambda match: escape_character(match[0]), name)
    if is_device_name(name):
        escaped = escape_character(name[0]) + escaped[1:]
    if escaped.endswith((".", " ")):
        escaped = escaped[:-1] + escape_character(escaped[-1])
    return escaped


def unescape_name(escaped: str) -> str:
    """Return the name that `escape_name` has escaped."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), escaped)
