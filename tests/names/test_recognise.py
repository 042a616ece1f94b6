import json
import pickle
import re
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import dates, handles, hosts, ip_addresses, milliseconds, ports, ppid_digits, ppid_types

from perdure import InvalidInput, Recognition, handle, ibi, pilin, recognise
from perdure.names.unwrap import unwrap

PASTED = tomllib.loads(Path(__file__).with_name("pasted.toml").read_text("utf-8"))["pasted"]


@pytest.mark.parametrize("case", PASTED, ids=lambda case: case["text"].strip())
def test_pasted_forms(case: dict[str, str]) -> None:
    found = recognise(case["text"])
    assert found.scheme == case["scheme"]
    assert found.canonical == case.get("canonical")
    assert found.valid == ("canonical" in case)
    assert found.reason
    for key in ("suggestion", "part"):
        if key in case:
            assert found.details[key] == case[key]


@given(st.text())
def test_the_recognition_of_any_text_has_a_reason(text: str) -> None:
    found = recognise(text)
    assert isinstance(found, Recognition)
    assert found.reason
    assert found.valid == (found.canonical is not None)
    assert all(not other.alternatives for other in found.alternatives)


@given(st.one_of(st.text(), handles.map(str), handles.map(lambda name: name.url())))
def test_a_canonical_form_is_recognised_as_itself(text: str) -> None:
    found = recognise(text)
    canonical = found.canonical
    # Spaces and colons are where a bare name can be taken for a sentence or for a name with a label before it.
    if canonical is not None and unwrap(canonical) == canonical and not re.search(r"[\s:]", canonical):
        again = recognise(canonical)
        assert (again.scheme, again.canonical, again.valid) == (found.scheme, canonical, True)


@given(hosts, ports, dates(0))
def test_everything_in_a_repository_name_is_decoded(host: str, port: int, date: Any) -> None:
    name = ibi.repository_name(host, port, date)
    found = recognise(str(name))
    assert (found.scheme, found.canonical, found.valid) == ("ibi", str(name), True)
    assert (found.details["host"], found.details["port"]) == (host, port)
    assert found.details["directory"] == str(name)
    assert found.details["instant"]


@given(ip_addresses, ports, dates(807_235_200))
def test_everything_in_an_ibip_is_decoded(ip: str, port: int, date: Any) -> None:
    name = ibi.opaque_name(ip, port, date)
    found = recognise(str(name))
    assert (found.scheme, found.canonical, found.valid) == ("ibi", str(name), True)
    assert (found.details["ip"], found.details["port"]) == (name.ip, port)
    assert "handle" in [other.scheme for other in found.alternatives]


@given(ppid_types, ppid_digits)
def test_everything_in_a_person_identifier_is_decoded(kind: Any, digits: str) -> None:
    from perdure.names.check_digit import check_digit

    sixteen = digits + check_digit(digits)
    found = recognise(f" <{kind} {sixteen}> ")
    assert found.valid
    assert found.details["type"] == kind
    assert found.details["digits"] == digits
    assert found.details["check_digit"] == sixteen[-1]


@given(milliseconds)
def test_a_pilin_suffix_is_always_among_the_readings(value: int) -> None:
    suffix = pilin.encode(value)
    for text in (suffix, f"102.100.272/{suffix}"):
        found = recognise(text)
        readings = [found, *found.alternatives]
        assert any(r.scheme == "pilin" and r.details["milliseconds"] == value for r in readings)


def test_a_suffix_of_our_time_is_read_as_pilin_first() -> None:
    assert recognise("12345/" + pilin.encode(14_000_000_000_000)).scheme == "pilin"


def test_the_likeliest_reading_comes_first_and_the_others_are_not_hidden() -> None:
    assert [r.scheme for r in recognise("0000-0002-1825-0097").alternatives] == ["isni"]
    assert [r.scheme for r in recognise("102.100.272/Y35XYS0QH").alternatives] == ["handle"]
    assert [r.scheme for r in recognise("hdl:8JMKD3MGP8W/34PGRBS").alternatives] == ["ibi"]
    assert recognise("hdl:8JMKD3MGP8W/34PGRBS").scheme == "handle"


def test_a_full_stop_may_belong_to_the_handle() -> None:
    found = recognise("10.1000/abc.")
    assert found.canonical == "10.1000/abc"
    assert [other.canonical for other in found.alternatives] == ["10.1000/abc."]


def test_labels_in_the_wild_have_a_canonical_spelling() -> None:
    found = recognise("sid.inpe.br/mtc-m18@80/2009/02.16.17.46.00")
    assert found.valid
    assert found.canonical == "sid.inpe.br/mtc-m18@80/2009/02.16.17.46.00"
    assert found.details["written_today"] == "sid.inpe.br/mtc-m18/2009/02.16.17.46"


def test_a_citation_has_its_document_type_and_its_label() -> None:
    found = recognise("iconet.com.br/banon/2009/09.09.22.01-RPQ")
    assert found.details["document_type"] == "RPQ"
    assert found.details["label"] == found.details["directory"] == "iconet.com.br/banon/2009/09.09.22.01"


def test_both_labels_of_one_item_show_the_same_instant() -> None:
    readable = recognise("iconet.com.br/banon/2009/09.09.22.01-RPQ")
    opaque = recognise("http://urlib.net/LK47B6W/362SFKH")
    assert readable.details["instant"] == opaque.details["instant"] == "2009-09-09T22:01:00Z"


def test_recognitions_are_values() -> None:
    one, other = recognise("10.1000/182"), recognise("doi:10.1000/182")
    assert one == other
    assert len({one, other}) == 1
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
    assert json.loads(json.dumps(one.details))["prefix"] == "10.1000"
    with pytest.raises(TypeError):
        one.details["prefix"] = "x"
    with pytest.raises(TypeError):
        one.details |= {"prefix": "x"}  # type: ignore[misc]
    with pytest.raises(AttributeError):
        one.valid = False  # type: ignore[misc]


def test_a_text_that_is_too_long_is_not_an_identifier() -> None:
    assert recognise("10.1000/" + "x" * 5000).details["part"] == "length"


@pytest.mark.parametrize("value", [None, 5, b"10.1000/182"])
def test_only_text_is_recognised(value: object) -> None:
    with pytest.raises(InvalidInput):
        recognise(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unit",
    [
        " ",
        "<",
        "(",
        "))",
        "[]",
        "a.",
        "URL:",
        "MEBKM:",
        "MEBKM:URL:;",
        "]Q1",
        "hdl:",
        "https://",
        "/",
        "../",
        "%",
        "%41",
        "0",
        "0-",
        "a.b/",
        "Z",
        "X2",
        "\u00ad",
        "-A",
        "\\:",
        "wikidata",
        "https://a=",
        "https://a/https%3A%2F%2F",
        "https%3A%2F%2F=",
        "URL:\\;",
        "\n",
        "Y35 ",
        "1/ ",
    ],
)
def test_every_text_is_recognised_quickly(unit: str) -> None:
    text = unit * (4096 // len(unit))
    start = time.process_time()
    for variant in (
        text,
        "10.1/" + text[:4000],
        "orcid" + text[:4000],
        "wikidata " + text[:4000] + "x",
        "MEBKM:" + text[:4000],
        text[:4000] + "!",
        "https://doi.org/10.1/" + text[:4000],
    ):
        recognise(variant)
    assert (
        time.process_time() - start < 5
    )  # no claim of speed: milliseconds are usual, a pattern that runs away takes minutes


@given(handles)
def test_handles_are_parsed_from_web_addresses(name: handle.Handle) -> None:
    address = name.url()
    # characters that may belong to the sentence are removed at the end; another name, or none, remains
    if unwrap(f"<{address}>") == address:
        found = recognise(f"<{address}>")
        assert str(name) in [reading.canonical for reading in (found, *found.alternatives)]
