"""Stored items in a harvest: the sets of their collections, and what the description says about their files."""

import pytest
from tests.collections.item_office import ItemOffice

from perdure.http.oai_pmh.dublin_core import write_dublin_core
from perdure.http.oai_pmh.record_sets import list_sets, parse_set, sets_of
from perdure.registry.harvest import HarvestedIdentifier, harvest_one, harvest_page
from perdure.store.postgres import reader as postgres


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for nothing: with several writing processes, new changes appear only when no earlier one can follow."""
    monkeypatch.setattr(postgres, "_SETTLING_MICROSECONDS", -60_000_000)


def harvest(items: ItemOffice, spec: str) -> list[HarvestedIdentifier]:
    return list(items.office.ask(harvest_page, parse_set(spec), 0, None, 100, 5.0).identifiers)


def test_a_collection_is_a_set(items: ItemOffice) -> None:
    one, two = items.put(), items.put(collection="second")
    items.reserve()
    names = {
        spec: [found.view.name for found in harvest(items, spec)] for spec in ("collection", "collection:second", "ibi")
    }
    assert names == {
        "collection": [one.label, two.label],
        "collection:second": [two.label],
        "ibi": [one.label, two.label],
    }
    sets = items.office.read(lambda reader: list(list_sets(reader.prefixes(), reader.collections())))
    assert any("<setSpec>collection:second</setSpec>" in one for one in sets)
    found = items.office.ask(harvest_one, two.label)
    assert list(sets_of(found)) == ["ibi:sid.inpe.br!2Fmtc-m18", "collection:second"]
    (opaque,) = [name for name in found.view.names if name != two.label]
    assert items.office.ask(harvest_one, opaque) == found


def test_the_main_file_gives_type_and_format(items: ItemOffice) -> None:
    thesis = items.put(main_file="thesis.pdf")
    text = write_dublin_core(items.office.ask(harvest_one, thesis.label), "https://id.example.org/x")
    assert "<dc:type>Text</dc:type><dc:format>application/pdf</dc:format>" in text
    assert f"<dc:relation>https://id.example.org/items/main/{thesis.label}/thesis.pdf</dc:relation>" in text
    data = items.put()
    assert "dc:format" not in write_dublin_core(items.office.ask(harvest_one, data.label), "https://id.example.org/x")


@pytest.mark.parametrize(
    ("path", "media_type"), [("table.csv.gz", "application/gzip"), ("model.nc", "application/netcdf")]
)
def test_the_format_is_the_media_type_of_the_download(items: ItemOffice, path: str, media_type: str) -> None:
    """It does not depend on the tables of the machine, and a compressed table is not a text."""
    stored = items.put({path: b"1"}, main_file=path)
    text = write_dublin_core(items.office.ask(harvest_one, stored.label), "https://id.example.org/x")
    assert f"<dc:format>{media_type}</dc:format>" in text
    assert "dc:type" not in text
