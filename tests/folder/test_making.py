"""A registry's folder is made once, whatever interrupts it, and opened by whom it belongs to."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.folder.grounds import Cut, Grounds, Place, on_a_server, stop
from tests.postgres.shared import database

from perdure.errors import InvalidInput, PerdureError
from perdure.folder import (
    ADMIN_KEY,
    DATABASE,
    SETTINGS,
)
from perdure.registry import (
    Registry,
    Settings,
    Statement,
    add_prefix,
    mint,
    show,
    verify,
)
from perdure.registry.entities import Agent
from perdure.settings_file import read_settings
from perdure.store.postgres.place import PostgresPlace


def test_a_new_folder_holds_settings_a_database_and_a_key(place: Place) -> None:
    assert {SETTINGS, DATABASE, ADMIN_KEY} <= place.files().keys()
    assert place.ask(verify) == []


def test_the_settings_name_the_store(grounds: Grounds) -> None:
    here = grounds.plot()
    here.make()
    assert read_settings(here.folder).registry.store == here.store
    assert (here.folder / DATABASE).exists() == (grounds.engine == "sqlite")
    assert here.ask(verify) == []


def test_the_key_is_for_its_owner_alone(place: Place) -> None:
    assert stat.S_IMODE((place.folder / ADMIN_KEY).stat().st_mode) == 0o600


def test_the_settings_explain_themselves_and_are_read_as_they_are(place: Place) -> None:
    text = (place.folder / SETTINGS).read_text()
    for setting in ("longest_wait", "largest_gap_days", "schemes", "value_bytes", "record_bytes", "type_prefix"):
        assert setting in text

    async def settings(registry: Registry, by: Agent) -> Settings:
        return registry.settings

    assert place.inside(settings) == Settings()
    # The defaults that are shown are the defaults.
    (place.folder / SETTINGS).write_text(
        "\n".join(line.removeprefix("# ") if " = " in line else line for line in text.splitlines())
    )
    assert place.inside(settings) == Settings()


def test_a_setting_that_is_changed_counts(place: Place) -> None:
    path = place.folder / SETTINGS
    path.write_text(path.read_text().replace('# schemes = ["http", ', 'schemes = ["gopher", '))
    place.do(add_prefix, "12345")
    [made] = place.do(mint, "12345", said=Statement("gopher://example.org/"))
    assert place.ask(show, made.name).target == "gopher://example.org/"


@pytest.mark.parametrize("section", ["minting", "limits", "registry", "metadata", "colours"])
def test_a_setting_that_is_not_known_is_named(place: Place, section: str) -> None:
    path = place.folder / SETTINGS
    text = path.read_text()
    heading = f"[{section}]\n"
    path.write_text(
        text.replace(heading, f"{heading}longest_wiat = 5\n") if heading in text else f"{text}\n{heading}x = 1\n"
    )
    with pytest.raises(InvalidInput, match=r"longest_wiat|colours"):
        place.ask(verify)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("# longest_wait = 10.0", 'longest_wait = "long"', "longest_wait"),
        ("# longest_wait = 10.0", "longest_wait = -1.0", "longest_wait"),
        ("# longest_wait = 10.0", "longest_wait = nan", "longest_wait"),
        ("# value_bytes = 65536", "value_bytes = -5", "value_bytes"),
        ('store = "sqlite:perdure.db"', 'store = "oracle:x"', "oracle"),
        ("[registry]", "[registry", SETTINGS),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(place: Place, old: str, new: str, told: str) -> None:
    path = place.folder / SETTINGS
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InvalidInput, match=told):
        place.ask(verify)


def test_settings_of_another_registry_are_refused(grounds: Grounds, anywhere: Place) -> None:
    other = grounds.plot("other")
    other.make()
    ours, theirs = anywhere.folder / SETTINGS, other.folder / SETTINGS
    ours.write_text(
        ours.read_text().replace(read_settings(anywhere.folder).registry.id, read_settings(other.folder).registry.id)
    )
    before = anywhere.files()
    with pytest.raises(InvalidInput, match="one of them was copied here"):
        anywhere.ask(verify)
    assert anywhere.files() == before
    assert theirs.exists()


def test_where_there_is_a_registry_none_is_made(anywhere: Place) -> None:
    before = anywhere.files()
    with pytest.raises(InvalidInput, match="already"):
        anywhere.make()
    assert anywhere.files() == before
    assert anywhere.ask(verify) == []


def test_a_database_whose_settings_are_gone_is_not_overwritten(anywhere: Place) -> None:
    anywhere.do(add_prefix, "12345")
    settings = (anywhere.folder / SETTINGS).read_text()
    (anywhere.folder / SETTINGS).unlink()
    before = anywhere.files()
    with pytest.raises(InvalidInput, match=SETTINGS):
        anywhere.make()
    assert anywhere.files() == before
    (anywhere.folder / SETTINGS).write_text(settings)
    assert anywhere.mint("12345")


@on_a_server
def test_a_registry_that_another_folder_has_made_is_not_overwritten(grounds: Grounds, anywhere: Place) -> None:
    elsewhere = grounds.plot("elsewhere")
    elsewhere.store = anywhere.store
    with pytest.raises(InvalidInput, match="already"):
        elsewhere.make()
    assert not (elsewhere.folder / SETTINGS).exists()
    assert anywhere.ask(verify) == []


@on_a_server
@pytest.mark.parametrize("ending", ["_new", "_incoming"])
def test_making_or_restoring_a_registry_leaves_other_schemas_alone(grounds: Grounds, ending: str) -> None:
    here, neighbour = grounds.plot(), grounds.plot("neighbour")
    neighbour.store = f"{here.store}{ending}"
    neighbour.make()
    here.make()
    here.restore(here.backup())
    assert neighbour.ask(verify) == []


@on_a_server
def test_a_schema_that_is_there_already_is_used_or_refused_at_once(grounds: Grounds) -> None:
    """An administrator may have made it, with just the rights that the registry needs."""
    here = grounds.plot()
    schema = here.store.rpartition("=")[2]
    database().execute(f"CREATE SCHEMA {schema}")
    try:
        here.make()
    except InvalidInput:
        assert not (here.folder / SETTINGS).exists()
    else:
        assert here.ask(verify) == []


def test_a_folder_without_a_registry_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="perdure init"):
        Place(tmp_path).ask(verify)


def test_wrong_input_makes_no_folder_that_looks_like_a_registry(grounds: Grounds) -> None:
    here = grounds.plot()
    for wrong in ({"home": "no/prefix"}, {"admin": "Not A Short Name"}, {"type_prefix": "a/b"}):
        with pytest.raises(PerdureError):
            here.make(**wrong)
        assert not (here.folder / SETTINGS).exists()
    here.make(home="12345", ppid_namespace=UUID(int=7))
    assert here.ask(verify) == []


@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_interrupted_making_can_be_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """A making ends with three files put in place, one after the other; it may be cut before each of them."""
    here = Place(tmp_path / "registry")
    done = 0
    replace = Path.replace

    def counted(self: Path, target: Path) -> Path:
        nonlocal done
        if Path(target).name in (ADMIN_KEY, DATABASE, SETTINGS):
            done += 1
            if done == step:
                stop()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", counted)
    monkeypatch.setattr(os, "link", lambda source, target: counted(Path(source), Path(target)))
    with pytest.raises(Cut):
        here.make()
    monkeypatch.undo()
    here.make()
    assert here.ask(verify) == []
    assert len(here.mint(here.inside(_home))) == 1


@on_a_server
def test_two_machines_that_make_one_registry_at_once_make_one(
    grounds: Grounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second comes when the first is about to take its last step. Whoever is told that it is ready has a key to it."""
    first, second = grounds.plot(), grounds.plot("another machine")
    second.store = first.store
    take = PostgresPlace.take

    def too_late(self: PostgresPlace, *rest: Any) -> None:
        monkeypatch.setattr(PostgresPlace, "take", stop)  # the second gets no further than this, for now
        with ThreadPoolExecutor(1) as pool:
            pool.submit(second.make).exception()
        monkeypatch.setattr(PostgresPlace, "take", take)
        take(self, *rest)

    monkeypatch.setattr(PostgresPlace, "take", too_late)
    try:
        first.make()
    except PerdureError:
        return
    assert first.ask(verify) == []


@on_a_server
@pytest.mark.parametrize("step", ["write_whole", "write_settings", "take"])
def test_an_interrupted_making_on_a_server_can_be_run_again(
    grounds: Grounds, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """It may be cut before the key is written, before the settings are, and before the schema has its name."""
    here = grounds.plot()
    with monkeypatch.context() as cut:
        if step == "take":
            cut.setattr(PostgresPlace, "take", stop)
        else:
            cut.setattr(f"perdure.folder.{step}", stop)
        with pytest.raises(Cut):
            here.make()
    here.make()
    assert here.ask(verify) == []
    assert len(here.mint(here.inside(_home))) == 1


async def _home(registry: Registry, by: Agent) -> str:
    return registry.home


# Restore
