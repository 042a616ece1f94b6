"""Every setting has a description, from which the reference of settings is generated."""

from collections.abc import Iterator

import msgspec
from msgspec.inspect import Metadata, StructType

from perdure.settings_file import SettingsFile


def fields(struct: type[msgspec.Struct], section: str = "") -> Iterator[tuple[str, str | None]]:
    """Yield the name and the description of every setting."""
    info = msgspec.inspect.type_info(struct)
    assert isinstance(info, StructType)
    for field in info.fields:
        inner = field.type.type if isinstance(field.type, Metadata) else field.type
        if isinstance(inner, StructType):
            yield from fields(inner.cls, f"{field.name}.")
        else:
            schema = field.type.extra_json_schema if isinstance(field.type, Metadata) else None
            yield section + field.name, (schema or {}).get("description")


def test_every_setting_has_a_description_of_one_line() -> None:
    descriptions = dict(fields(SettingsFile))
    assert len(descriptions) > 40
    wrong = [name for name, text in descriptions.items() if not text or "\n" in text or not text.endswith(".")]
    assert wrong == []
