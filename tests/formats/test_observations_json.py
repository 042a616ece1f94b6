"""Observations in files: every line is an observation or a reason, and nothing is lost silently."""

import json
from hashlib import sha256
from typing import Any

import pytest

from perdure.errors import InvalidInput
from perdure.formats import observations_csv, observations_json
from perdure.formats.claim_fields import build_claims
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import RejectedLine
from perdure.formats.observations_json import ObservationRow, read_claims
from perdure.records.person import Claim, InSource, Observation, PersonName

WHEN = "2025-01-09T10:30:00Z"
JAN = {"source_url": "https://example.org/jan", "retrieval_timestamp": WHEN, "content_hash": "0" * 64}


def read_json(*texts: str | dict[str, Any]) -> list[ObservationRow | RejectedLine]:
    written = [text if isinstance(text, str) else json.dumps(text) for text in texts]
    return list(observations_json.read((number, text.encode()) for number, text in enumerate(written, 1)))


def read_table(
    text: str, *mapped: tuple[str, str], fixed: tuple[tuple[str, str], ...] = ()
) -> list[ObservationRow | RejectedLine]:
    rows = read_rows(text.splitlines(keepends=True), delimiter=None)
    return list(observations_csv.read(rows, mapped, fixed)[1])


def observation_of(entry: ObservationRow | RejectedLine) -> Observation:
    assert isinstance(entry, ObservationRow), entry
    return entry.observation


def rejection_of(entry: ObservationRow | RejectedLine) -> str:
    assert isinstance(entry, RejectedLine), entry
    return entry.reason


# JSON


def test_a_line_with_every_field_is_read() -> None:
    claim = {
        "type": "name",
        "value": {"given_name": "Jan", "base_surname": "Vries"},
        "language": "nl",
        "confidence": 0.8,
        "where": {"page": "12"},
        "agent": "reader/1.0",
        "status": "inferred",
        "reasoning": "by the hand",
    }
    [entry] = read_json(JAN | {"source_name": "A page", "holding_archive": "NL-NH-AMS-M-RM", "claims": [claim]})
    assert observation_of(entry).source_name == "A page"
    assert observation_of(entry).claims == (
        Claim(
            type="name",
            value=PersonName(given_name="Jan", base_surname="Vries"),
            language="nl",
            confidence=0.8,
            where=InSource(page="12"),
            agent="reader/1.0",
            status="inferred",
            reasoning="by the hand",
        ),
    )


def test_blank_lines_are_skipped_and_counted() -> None:
    assert [entry.line for entry in read_json("", JAN, "  ", JAN)] == [2, 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "invalid JSON"),
        ("[1]", "JSON object"),
        ("[" * 100_000, "invalid JSON"),
        ({"source_url": "https://example.org/"}, "retrieval_timestamp"),
        (JAN | {"claim": []}, "unknown field claim: the fields are source_url"),
        (JAN | {"claims": {"type": "name"}}, "claims must be a list"),
        (JAN | {"claims": ["Jan"]}, "claims[1] is not a JSON object"),
        (JAN | {"claims": [{"type": "name", "value": "x"}, {"type": "name"}]}, "the claims[2].value is missing"),
        (JAN | {"claims": [{"type": "name", "value": "x", "confidence": "high"}]}, "claims[1].confidence: expected"),
        (JAN | {"claims": [{"type": "name", "value": "x", "sure": 1}]}, "unknown field claims[1].sure"),
        (JAN | {"claims": [{"type": "name", "value": {"surname": "x"}}]}, "unknown field claims[1].value.surname"),
        (
            JAN | {"claims": [{"type": "age", "value": "9", "where": {"leaf": "x"}}]},
            "unknown field claims[1].where.leaf",
        ),
        (JAN | {"claims": [{"type": "age", "value": "9", "status": "sure"}]}, "claims[1].status"),
    ],
)
def test_a_line_that_is_refused_names_the_part(line: str | dict[str, Any], message: str) -> None:
    [entry] = read_json(line)
    assert message in rejection_of(entry)


@pytest.mark.parametrize(
    ("field", "rule"),
    [("source_url", "POID must have source"), ("retrieval_timestamp", "Valid timestamps"), ("content_hash", None)],
)
def test_a_missing_field_is_named_with_its_rule(field: str, rule: str | None) -> None:
    for fields in ({key: text for key, text in JAN.items() if key != field}, JAN | {field: 5}):
        [entry] = read_json(fields)
        assert isinstance(entry, RejectedLine)
        assert (entry.part, entry.rule) == (field, rule)


def test_claims_are_read_from_a_list_or_from_the_field_of_their_type() -> None:
    claims = [{"type": "age", "value": "9"}]
    expected = (Claim(type="age", value="9"),)
    assert read_claims(json.dumps(claims).encode()) == expected
    assert read_claims(json.dumps({"claims": claims}).encode()) == expected
    with pytest.raises(InvalidInput, match=r"claims\[1\]"):
        read_claims(b'[{"type": "age"}]')
    with pytest.raises(InvalidInput, match="unknown field type"):
        read_claims(b'{"type": "age"}')


# Tables


def test_columns_of_any_name_can_be_mapped() -> None:
    text = "Link;Naam;Geboren;Rest\nhttps://example.org/1;Jan;1895-03~;x\n"
    [entry] = read_table(
        text,
        ("source_url", "Link"),
        ("name", "naam"),
        ("birth_date", "Geboren"),
        fixed=(("retrieval_timestamp", WHEN), ("nationality", "NL"), ("language", "nl")),
    )
    assert entry.line == 2
    assert observation_of(entry).source_url == "https://example.org/1"
    assert observation_of(entry).retrieval_timestamp == WHEN
    assert observation_of(entry).claims == (
        Claim(type="name", value="Jan", language="nl"),
        Claim(type="birth_date", value="1895-03~"),  # a date is in no language
        Claim(type="nationality", value="NL", language="nl"),
    )


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_headings_that_are_fields_need_no_mapping(separator: str) -> None:
    header = separator.join(("source_url", "Retrieval_timestamp", "NAME", "https://schema.org/award", "remarks"))
    row = separator.join(("https://example.org/1", WHEN, "Jan", "a medal", "…"))
    known, entries = observations_csv.read(read_rows([f"{header}\r\n", f"{row}\r\n"], delimiter=None))
    assert known.unused_columns == ["remarks"]
    [entry] = entries
    assert observation_of(entry).claims == (
        Claim(type="name", value="Jan"),
        Claim(type="https://schema.org/award", value="a medal"),
    )


def test_a_constant_is_used_for_an_empty_cell() -> None:
    text = "source_url,age,language\nhttps://example.org/1,9,fy\nhttps://example.org/2,9,\n"
    entries = read_table(text, fixed=(("retrieval_timestamp", WHEN), ("language", "nl")))
    assert [observation_of(entry).claims[0].language for entry in entries] == ["fy", "nl"]


def test_the_parts_of_a_name_make_one_claim() -> None:
    parts = [("name.given_name", "Jan"), ("age", "9"), ("name.base_surname", "Vries"), ("name", "J. Vries")]
    assert build_claims(parts) == (
        Claim(type="name", value=PersonName(literal_name="J. Vries", given_name="Jan", base_surname="Vries")),
        Claim(type="age", value="9"),
    )
    with pytest.raises(InvalidInput, match="only one"):
        build_claims([*parts, ("name.given_name", "Piet")])
    with pytest.raises(InvalidInput, match="only one"):
        build_claims([*parts, ("name", "Piet")])


def test_two_columns_of_one_type_make_two_claims() -> None:
    text = "source_url,A,B\nhttps://example.org/1,smith,\nhttps://example.org/2,smith,verger\n"
    mapped = (("source_url", "source_url"), ("occupation", "A"), ("occupation", "B"))
    entries = read_table(text, *mapped, fixed=(("retrieval_timestamp", WHEN),))
    assert [[claim.value for claim in observation_of(entry).claims] for entry in entries] == [
        ["smith"],
        ["smith", "verger"],
    ]


def test_a_row_without_a_hash_is_hashed_as_documented() -> None:
    text = 'name,source_url,notes,\n Aaltje "de" B\u00f6er ,https://example.org/1,,extra\n'
    [entry] = read_table(text, fixed=(("retrieval_timestamp", WHEN),))
    written = '{"#4":"extra","name":"Aaltje \\"de\\" B\u00f6er","source_url":"https://example.org/1"}'
    assert observation_of(entry).content_hash == sha256(written.encode()).hexdigest()


def test_the_hash_of_a_row_does_not_depend_on_the_order_of_the_columns() -> None:
    one = read_table("source_url,name\nhttps://example.org/1,Jan\n", fixed=(("retrieval_timestamp", WHEN),))
    other = read_table("name;source_url\nJan;https://example.org/1\n", fixed=(("retrieval_timestamp", WHEN),))
    changed = read_table("name;source_url\nJane;https://example.org/1\n", fixed=(("retrieval_timestamp", WHEN),))
    assert (
        observation_of(one[0]).content_hash
        == observation_of(other[0]).content_hash
        != observation_of(changed[0]).content_hash
    )


def test_rows_without_content_are_skipped() -> None:
    text = f"source_url,retrieval_timestamp,age\n,,\n\nhttps://example.org/1,{WHEN},9\n , , \n"
    assert [entry.line for entry in read_table(text)] == [4]


@pytest.mark.parametrize(
    ("text", "mapped", "message"),
    [
        ("", (), "empty"),
        ("source_url,age\n", (), "retrieval_timestamp is required: use --map"),
        ("source_url,retrieval_timestamp\n", (), "no column is a claim"),
        ("a,a\n", (("age", "a"),), "two columns have the heading"),
        ("a,b\n", (("age", "c"),), "no column 'c' for age; the first line has: a, b"),
        ("a,b\n", (("shoe", "a"),), "'shoe' is not a field"),
        ("a,b\n", (("source_url", "a"), ("source_url", "b")), "source_url is given twice"),
    ],
)
def test_a_table_that_cannot_be_read_says_what_to_do(
    text: str, mapped: tuple[tuple[str, str], ...], message: str
) -> None:
    with pytest.raises(InvalidInput) as problem:
        read_table(text, *mapped)
    assert message in str(problem.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (f",{WHEN},9", "source_url is missing"),
        ("https://example.org/1,,9", "retrieval_timestamp is missing"),
        (f"https://example.org/1,{WHEN},9,more", "4 cells, but the first line has 3 columns"),
        (f"https://example.org/1,{WHEN},\udce9", "UTF-8"),
        (f'https://example.org/1,{WHEN},"a"b', "CSV"),
        (f'https://example.org/1,{WHEN},"never closed', "quotation mark"),
    ],
)
def test_a_row_that_is_refused_says_why(row: str, message: str) -> None:
    *good, bad = read_table(f"source_url,retrieval_timestamp,age\nhttps://example.org/0,{WHEN},8\n{row}\n")
    assert len(good) == 1
    assert message in rejection_of(bad)
    assert bad.line == 3


def test_a_row_that_cannot_be_read_does_not_end_the_file() -> None:
    text = f'source_url,retrieval_timestamp,age\nhttps://example.org/0,{WHEN},"a"b\nhttps://example.org/1,{WHEN},9\n'
    bad, good = read_table(text)
    assert "CSV" in rejection_of(bad)
    assert observation_of(good).claims[0].value == "9"


def test_a_duplicate_key_is_refused_with_its_path() -> None:
    twice = json.dumps(JAN | {"claims": [{"type": "age", "value": "3"}]}).replace('"value"', '"value": "4", "value"')
    first, problem, last = read_json(JAN, twice, JAN)
    observation_of(first)
    observation_of(last)
    assert isinstance(problem, RejectedLine)
    assert (problem.line, problem.part) == (2, "claims[1].value")
    assert rejection_of(problem) == "claims[1].value: the key 'value' is given twice"
    with pytest.raises(InvalidInput, match="the key 'type' is given twice"):
        read_claims(b'[{"type": "name", "type": "age", "value": "3"}]')
