"""The settings that a backup encloses are those of the registry, without anything secret."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.folder.backup_settings import EnclosedSettings, enclose_settings, parse_enclosed_settings
from perdure.settings_file import DEFAULT_STORE, SETTINGS, SettingsFile, write_settings

ID = "0123456789abcdef0123456789abcdef"
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)


def read(toml: str) -> SettingsFile:
    return msgspec.toml.decode(toml, type=SettingsFile)


def rebuild_file(sections: dict[str, dict[str, Any]], store: str = DEFAULT_STORE) -> SettingsFile:
    return read(EnclosedSettings(sections).to_toml(store))


def all_settings() -> dict[str, dict[str, Any]]:
    """Return every setting with its default."""
    encoded = msgspec.json.encode(msgspec.convert({"registry": {"id": ID}}, SettingsFile))
    sections: dict[str, dict[str, Any]] = msgspec.json.decode(encoded)
    return {name: {key: value for key, value in one.items() if value is not None} for name, one in sections.items()}


def candidates(value: Any) -> list[Any]:
    """Return other values of the same type."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value - 1]
        case str():
            return [f"{value}x/", f"{value}x"]
        case _:
            return [[*value, "10.0.0.0/8"]]


def is_valid(section: str, key: str, value: Any) -> bool:
    sections: dict[str, dict[str, Any]] = {"registry": {"id": ID}}
    sections.setdefault(section, {})[key] = value
    try:
        msgspec.convert(sections, SettingsFile)
    except msgspec.ValidationError:
        return False
    return True


def test_every_setting_comes_back_with_its_value() -> None:
    sections = all_settings()
    sections["registry"].pop("store")
    changed = 0
    for section, values in sections.items():
        for key, value in values.items():
            other = next((one for one in candidates(value) if is_valid(section, key, one)), value)
            values[key] = other
            changed += other != value
    assert changed > 40
    expected = sections | {"registry": sections["registry"] | {"store": DEFAULT_STORE}}
    assert msgspec.json.decode(msgspec.json.encode(rebuild_file(sections))) == expected


@given(TEXTS, st.lists(TEXTS, max_size=3), st.floats(0, 80_000))
def test_any_value_comes_back(text: str, schemes: list[str], seconds: float) -> None:
    file = rebuild_file(
        {
            "registry": {"id": ID},
            "metadata": {"type_prefix": text},
            "http": {"contact": text},
            "limits": {"schemes": schemes},
            "minting": {"longest_wait": seconds},
        }
    )
    assert (file.http.contact, file.metadata.type_prefix, list(file.limits.schemes)) == (text, text, schemes)
    assert file.minting.longest_wait == seconds


def test_the_file_is_the_usual_one_with_its_comments(tmp_path: Path) -> None:
    iris = "https://id.example.org/"
    write_settings(tmp_path, id=ID, store=DEFAULT_STORE, type_prefix="102.100.TYPE", person_iris=iris)
    text = (tmp_path / SETTINGS).read_text()
    assert parse_enclosed_settings(enclose_settings(tmp_path)).to_toml(DEFAULT_STORE) == text
    example = '# contact = "archive@example.org"'
    assert example in text
    (tmp_path / SETTINGS).write_text(text.replace(example, 'contact = "me@example.org"'))
    again = parse_enclosed_settings(enclose_settings(tmp_path)).to_toml(DEFAULT_STORE)
    assert again == text.replace(example, 'contact = "me@example.org"')


def test_neither_the_store_nor_a_comment_is_enclosed(tmp_path: Path) -> None:
    address = "postgresql://perdure:pa55word@db.example.org/perdure"
    write_settings(tmp_path, id=ID, store=address, type_prefix="102.100.TYPE")
    with (tmp_path / SETTINGS).open("a") as file:
        file.write("# before, it was pa55word2\n")
    text = enclose_settings(tmp_path)
    assert "pa55word" not in text
    assert "db.example.org" not in text
    assert read(parse_enclosed_settings(text).to_toml("sqlite:other.db")).registry.store == "sqlite:other.db"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"registry": {}}',
        '{"registry": {"id": 7}}',
        '{"registry": {"id": "x"}, "http": {"of_a_newer_version": 1}}',
        '{"registry": {"id": "x"}, "http": {"idle_seconds": -1}}',
        '{"registry": {"id": "x"}, "http": ' + "[" * 100_000,
        '{"registry": {"id": "' + "x" * 2_000_000 + '"}}',
    ],
)
def test_settings_that_this_version_cannot_read_are_refused_with_a_way_out(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"the settings in the backup are invalid here: .*perdure restore FILE"):
        parse_enclosed_settings(text)
