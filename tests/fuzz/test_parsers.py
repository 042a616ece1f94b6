"""A long run on the parsers, with texts that are nearly valid, as people and machines make mistakes."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import dates, handles, hosts, ip_addresses, milliseconds, ports

import perdure
from perdure import ibi, pilin, ppid, recognise

BUDGET = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "30000")), deadline=None)

pytestmark = pytest.mark.slow

seeds = st.one_of(
    handles.map(str),
    handles.map(lambda name: name.url()),
    milliseconds.map(pilin.encode),
    st.builds(lambda *parts: str(ibi.repository_name(*parts)), hosts, ports, dates(0)),
    st.builds(lambda *parts: str(ibi.opaque_name(*parts)), ip_addresses, ports, dates(807_235_200)),
    st.uuids(version=5).map(lambda raw: ppid.uuid_to_ppid(raw, "POID")),
    st.sampled_from(
        [
            "APM77Z/KFQ6T",
            "6qtX3pFwXQZ3r59YD6/GPtJt",
            "0000-0002-1825-0097",
            "NL-NH-AMS-M-RM",
            "iconet.com.br/banon/2009/09.09.22.01-RPQ",
        ]
    ),
)
fragments = st.sampled_from(
    ["/", "//", ".", "..", "@", "-", "–", "%", "%2F", "%00", "%C3", "?", "#", "<", ">", "(", ")", "W", "X", "Z", "0", "O", "\n", "\x00",
     "\u200b", "\u00ad", "\U0001f600", "\ud800", "hdl:", "doi:", "https://doi.org/", "http://urlib.net/rep/", "info:hdl/", "POID-", "-RPQ", "]Q1",
     "MEBKM:", "URL:", " ", "９", "٣", "ſ", "K", "1" * 400, "99999999999", "31688738506", "é"]
)  # fmt: skip


@st.composite
def nearly_right(draw: st.DrawFn) -> str:
    text = draw(seeds)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        end = draw(st.integers(at, min(len(text), at + 3)))
        text = text[:at] + draw(st.one_of(fragments, st.text(max_size=3))) + text[end:]
    return text


@BUDGET
@given(nearly_right())
def test_recognise_never_raises_and_is_consistent_with_the_parsers(text: str) -> None:
    found = recognise(text)
    for reading in (found, *found.alternatives):
        assert reading.reason
        assert reading.valid == (reading.canonical is not None)
        if reading.scheme == "handle" and reading.valid:
            assert perdure.handle.parse(reading.canonical or "").url()
        if reading.scheme == "ppid" and reading.valid:
            assert ppid.canonical(reading.canonical or "") == reading.canonical
        if "suggestion" in reading.details:
            assert recognise(str(reading.details["suggestion"])).valid


@BUDGET
@given(nearly_right())
def test_a_parser_reads_back_the_text_of_its_result(text: str) -> None:
    for parser in (perdure.handle.parse, ibi.parse, ibi.parse_legacy):
        try:
            name = parser(text)
        except perdure.PerdureError:
            continue
        assert parser(str(name)) == name


@BUDGET
@given(nearly_right())
def test_a_label_is_preserved_and_its_canonical_form_has_equal_parts(text: str) -> None:
    try:
        name = ibi.parse(text)
    except perdure.PerdureError:
        return
    assert str(name) == text
    again = ibi.parse(name.canonical)
    assert (again.port, again.date, again.is_canonical) == (name.port, name.date, True)
    assert getattr(again, "host", None) == getattr(name, "host", None)
    assert getattr(again, "ip", None) == getattr(name, "ip", None)


@BUDGET
@given(nearly_right())
def test_both_validators_agree(text: str) -> None:
    try:
        right = ppid.canonical(text)
    except perdure.PerdureError:
        assert not ppid.validate_ppid(text)
    else:
        assert ppid.validate_ppid(text)
        assert right.lower() == text.lower()


@BUDGET
@given(st.binary(max_size=64))
def test_bytes_that_are_not_text_do_not_raise(data: bytes) -> None:
    recognise(data.decode("utf-8", "surrogateescape"))
    recognise(data.decode("latin-1"))
    recognise((data + data).decode("utf-16-le", "surrogatepass"))
