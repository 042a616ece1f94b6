"""The settings that a backup encloses, so that it can be restored on an empty machine.

They are the values of `perdure.toml` as JSON, without comments and without the store: its address may hold a password,
and so may a comment.
"""

import re
from pathlib import Path
from typing import Any, Final

import msgspec

from perdure.errors import InvalidInput
from perdure.settings_file import SETTINGS, SettingsFile, fill_template, quote_toml, read_settings
from perdure.store.postgres.postgres_options import PostgresOptions

_REGISTRY, _STORE, _ID = "registry", "store", "id"
_METADATA, _TYPE_PREFIX = "metadata", "type_prefix"
_PERSONS, _PERSON_IRIS = "persons", "ppid"
_IN_TEMPLATE: Final = frozenset({(_REGISTRY, _ID), (_METADATA, _TYPE_PREFIX), (_PERSONS, _PERSON_IRIS)})
_LARGEST: Final = 1 << 20  # characters

Sections = dict[str, dict[str, Any]]


class EnclosedSettings:
    """The settings of a registry, for any store."""

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        file = msgspec.convert(sections, SettingsFile)
        self.id = file.registry.id
        self.postgresql: PostgresOptions = file.postgresql
        self._type_prefix = file.metadata.type_prefix
        self._person_iris = str(sections.get(_PERSONS, {}).get(_PERSON_IRIS, ""))

    def to_toml(self, store: str) -> str:
        """Return the text of `perdure.toml`: the usual comments, with these values."""
        text = fill_template(self.id, store, self._type_prefix, person_iris=self._person_iris)
        for section, values in self._sections.items():
            for key, value in values.items():
                if (section, key) not in _IN_TEMPLATE:
                    text = _set_value(text, section, key, value)
        return text


def enclose_settings(folder: Path) -> str:
    """Return the settings of a registry for its backup."""
    read_settings(folder)  # which refuses invalid ones
    sections = msgspec.toml.decode((folder / SETTINGS).read_bytes(), type=Sections)
    sections[_REGISTRY].pop(_STORE, None)
    return msgspec.json.encode(sections).decode()


def parse_enclosed_settings(text: str) -> EnclosedSettings:
    """Parse the settings that a backup encloses. A newer version may have written settings that are unknown here."""
    try:
        if len(text) > _LARGEST:
            raise msgspec.ValidationError("they are too long")
        sections = msgspec.json.decode(text, type=Sections)
        sections.get(_REGISTRY, {}).pop(_STORE, None)
        return EnclosedSettings(sections)
    except msgspec.MsgspecError as problem:
        reason = (
            f"the settings in the backup are invalid here: {problem}. If a newer Perdure made the backup, use that "
            f"version; or make a folder with a {SETTINGS} for this version, and run perdure restore FILE there"
        )
        raise InvalidInput("restore", "settings", reason) from None


def _set_value(text: str, section: str, key: str, value: Any) -> str:
    """Return the text with one value, in the line of its default if there is one."""
    line = f"{key} = {_format_value(value)}"
    head, found, rest = text.partition(f"[{section}]\n")
    if not found:
        return f"{text}\n[{section}]\n{line}\n"
    body, bracket, others = rest.partition("\n[")
    body, count = re.subn(rf"^(?:# )?{re.escape(key)} = .*$", lambda _: line, body, count=1, flags=re.MULTILINE)
    if not count:
        body = f"{line}\n{body}"
    return f"{head}{found}{body}{bracket}{others}"


def _format_value(value: Any) -> str:
    if isinstance(value, str):
        return quote_toml(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_format_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{quote_toml(key)} = {_format_value(each)}' for key, each in value.items())}}}"
    return msgspec.json.encode(value).decode()  # numbers, true and false are written in the same way
