"""The directories of an item: the parts of its label, in lower case, safe on Linux, macOS and Windows.

A repository name has four directories, an opaque label (IBIp) two. Different labels have different directories, and no
item lies inside another one.

>>> label_to_path("SID.inpe.br/mtc-m18@80/2009/02.16.17.46")
'sid.inpe.br/mtc-m18=u004080/2009/02.16.17.46'
>>> label_to_path("8JMKD3MGP8W/34PGRBS"), path_to_label("8jmkd3mgp8w/34pgrbs")
('8jmkd3mgp8w/34pgrbs', '8JMKD3MGP8W/34PGRBS')
"""

import re
from typing import Final

from perdure.collections.portable_names import LONGEST_NAME, escape_character, escape_name, unescape_name
from perdure.errors import InvalidName
from perdure.names import ibi

_UNSAFE: Final = re.compile(r"[^a-z0-9.-]")


def canonical_label(label: str) -> str:
    """Return the label as items are stored under it. A base-53 label, whose case matters, is unchanged."""
    name = ibi.parse_any(label)
    return str(name) if isinstance(name, ibi.LegacyName) else name.canonical_spelling


def label_to_path(label: str) -> str:
    """Return the path of the item, relative to the collection. Raise InvalidName if the label cannot be stored."""
    name = ibi.parse_any(label)
    text = str(name) if isinstance(name, ibi.LegacyName) else name.key
    parts = [escape_name(part, _UNSAFE) for part in text.split("/")]
    if len(parts) == 4 and ibi.is_valid("/".join(parts[:2])):
        parts[0] = escape_character(parts[0][0]) + parts[0][1:]  # an item with this opaque label may exist
    if len(max(parts, key=len)) > LONGEST_NAME:
        reason = f"a part of the label needs a directory name of more than {LONGEST_NAME} characters"
        raise InvalidName("ibi", "label", None, f"{reason}, which file systems do not accept")
    return "/".join(parts)


def path_to_label(path: str) -> str | None:
    """Return the label of the item at a path, relative to the collection; None if no item belongs there."""
    try:
        label = canonical_label("/".join(map(unescape_name, path.split("/"))))
        return label if label_to_path(label) == path else None
    except InvalidName:
        return None
