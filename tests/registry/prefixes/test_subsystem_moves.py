"""Exports and imports of IBI subsystems: their label periods come with them."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.registry.file_moves import move, write_export
from tests.registry_fixture import NOON, ManualClock, Office, StoreFactory, open_office

from perdure.formats.import_entries import RejectedLine
from perdure.registry import AddressChange, Statement, add_subsystem, change_prefix, mint, resolve, verify
from perdure.registry.entities import Prefix
from perdure.registry.name_keys import require_prefix

HOST, IP, PREFIX = "mtc-m18.sid.inpe.br", "150.163.34.243", "sid.inpe.br/mtc-m18"
TARGET = Statement(target="https://example.org/thing")


@pytest.fixture
def station(office: Office) -> Office:
    office.do(add_subsystem, HOST, IP)
    office.do(mint, PREFIX, statement=TARGET)
    return office


@pytest.fixture
def elsewhere(runner: asyncio.Runner, store_factory: StoreFactory) -> Office:
    return open_office(runner, store_factory("elsewhere"), ManualClock(NOON + 1000))


def change(office: Office, **address: Any) -> None:
    office.clock.step(10)
    office.do(change_prefix, PREFIX, address=AddressChange(**address))
    office.do(mint, PREFIX, statement=TARGET)


def read_subsystem(office: Office) -> Prefix:
    return office.read(lambda reader: require_prefix(reader, PREFIX))


def rewrite(data: bytes, edit: Callable[[dict[str, Any]], None]) -> bytes:
    """Edit the line of the subsystem."""
    lines = []
    for line in data.splitlines():
        fields = json.loads(line)
        if (fields.get("entry"), fields.get("name")) == ("prefix", PREFIX):
            edit(fields)
        lines.append(json.dumps(fields).encode())
    return b"".join(line + b"\n" for line in lines)


def refusals(problems: list[Any]) -> list[str]:
    return [one.reason for one in problems if isinstance(one, RejectedLine)]


def test_an_import_restores_the_periods_and_all_names(station: Office, elsewhere: Office) -> None:
    change(station, host="mtc-m21b.sid.inpe.br")
    change(station, ip="150.163.34.250")
    data = write_export(station)
    _, problems = move(data, "ndjson", elsewhere)
    assert refusals(problems) == []
    assert read_subsystem(elsewhere) == read_subsystem(station)
    names = [row.name for row in station.read(lambda reader: reader.identifiers_after("", 100)) if row.scheme == "ibi"]
    assert len(names) == 6
    for name in names:
        assert elsewhere.ask(resolve, name).target == TARGET.target
    assert elsewhere.do(mint, PREFIX)[0].name.startswith("sid.inpe.br/mtc-m21b/")
    assert elsewhere.ask(verify) == []


def test_a_newer_export_continues_the_periods(station: Office, elsewhere: Office) -> None:
    old = write_export(station)
    move(old, "ndjson", elsewhere)
    change(station, host="mtc-m21b.sid.inpe.br")
    _, problems = move(write_export(station), "ndjson", elsewhere)
    assert refusals(problems) == []
    assert read_subsystem(elsewhere) == read_subsystem(station)
    _, problems = move(old, "ndjson", elsewhere)
    assert refusals(problems) == []
    assert read_subsystem(elsewhere) == read_subsystem(station)
    assert elsewhere.ask(verify) == []


def test_two_subsystems_that_went_apart_are_not_mixed(station: Office, elsewhere: Office) -> None:
    move(write_export(station), "ndjson", elsewhere)
    change(station, host="mtc-m21b.sid.inpe.br")
    elsewhere.clock.step(1000)
    change(elsewhere, host="mtc-m22.sid.inpe.br")
    before = read_subsystem(elsewhere)
    _, problems = move(write_export(station), "ndjson", elsewhere)
    assert any("label periods" in reason for reason in refusals(problems))
    assert read_subsystem(elsewhere) == before


def test_a_label_prefix_of_another_subsystem_is_refused(station: Office, elsewhere: Office) -> None:
    elsewhere.do(add_subsystem, "mtc-m21b.sid.inpe.br", None)
    change(station, host="mtc-m21b.sid.inpe.br")
    _, problems = move(write_export(station), "ndjson", elsewhere)
    assert any("stays with one subsystem for ever" in reason for reason in refusals(problems))


def test_a_subsystem_of_an_older_export_gets_its_periods(station: Office, elsewhere: Office) -> None:
    data = rewrite(write_export(station), lambda fields: fields.pop("periods"))
    _, problems = move(data, "ndjson", elsewhere)
    assert refusals(problems) == []
    assert read_subsystem(elsewhere) == read_subsystem(station)
    change(elsewhere, host="mtc-m21b.sid.inpe.br")
    moved = read_subsystem(elsewhere)
    _, problems = move(data, "ndjson", elsewhere)
    assert refusals(problems) == []
    assert read_subsystem(elsewhere) == moved


@pytest.mark.parametrize("wrong", ["label", "kind", "ended", "started", "opaque", "host", "periods"])
def test_periods_that_do_not_fit_are_refused(station: Office, elsewhere: Office, wrong: str) -> None:
    change(station, host="mtc-m21b.sid.inpe.br")

    def edit(fields: dict[str, Any]) -> None:
        edits: dict[str, Callable[[], Any]] = {
            "label": lambda: fields["periods"][0].update(label="Sid.inpe.br/mtc-m18"),
            "kind": lambda: fields["periods"][1].update(kind="name"),
            "ended": lambda: fields["periods"][0].update(ended="2020-01-01T00:00:00.000000Z"),
            "started": lambda: fields["periods"][2].update(started="yesterday"),
            "opaque": lambda: fields.update(opaque="8jmkd3mgp8x"),
            "host": lambda: fields["subsystem"].update(host="mtc-m22.sid.inpe.br"),
            "periods": lambda: fields["periods"].pop(0),
        }
        edits[wrong]()

    _, problems = move(rewrite(write_export(station), edit), "ndjson", elsewhere)
    assert refusals(problems)
    assert not [one for one in elsewhere.read(lambda reader: reader.prefixes()) if one.scheme == "ibi"]


def test_one_label_prefix_is_exported_with_the_items_that_have_a_label_there(
    station: Office, elsewhere: Office
) -> None:
    change(station, host="mtc-m21b.sid.inpe.br")
    names = {"sid.inpe.br/mtc-m18": 1, "sid.inpe.br/mtc-m21b": 1, "8JMKD3MGP8W": 2}
    for label_prefix, count in names.items():
        assert len(write_export(station, under=f"{label_prefix}/").splitlines()) == count
        assert len(write_export(station, under=label_prefix).splitlines()) == 2
    elsewhere.do(add_subsystem, HOST, IP)
    elsewhere.do(change_prefix, PREFIX, address=AddressChange(host="mtc-m21b.sid.inpe.br"))
    _, problems = move(write_export(station, under="8JMKD3MGP8W/"), "ndjson", elsewhere)
    assert refusals(problems) == []
    assert len(elsewhere.read(lambda reader: reader.identifiers_after("8jm", 10, "8jmkd3mgp8w/"))) == 2
