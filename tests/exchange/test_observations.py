"""Observations out of files: every line is an observation or a reason, and nothing is lost without a word."""

import json
from hashlib import sha256
from typing import Any

import pytest

from perdure.errors import InvalidInput
from perdure.exchange import observation_tables, observations
from perdure.exchange.claim_fields import claims_of
from perdure.exchange.entry import Refused
from perdure.exchange.observations import Seen, read_claims
from perdure.records.person import Claim, InSource, Observation, PersonName

WHEN = "2025-01-09T10:30:00Z"
JAN = {"source_url": "https://example.org/jan", "retrieval_timestamp": WHEN, "content_hash": "0" * 64}


def lines(*texts: str | dict[str, Any]) -> list[Seen | Refused]:
    written = [text if isinstance(text, str) else json.dumps(text) for text in texts]
    return list(observations.read((number, text.encode()) for number, text in enumerate(written, 1)))


def table(text: str, *mapped: tuple[str, str], fixed: tuple[tuple[str, str], ...] = ()) -> list[Seen | Refused]:
    rows = observation_tables.rows(text.splitlines(keepends=True))
    return list(observation_tables.read(rows, mapped, fixed)[1])


def seen(entry: Seen | Refused) -> Observation:
    assert isinstance(entry, Seen), entry
    return entry.observation


def refused(entry: Seen | Refused) -> str:
    assert isinstance(entry, Refused), entry
    return entry.reason


# JSON


def test_a_line_with_all_there_is_to_say() -> None:
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
    [entry] = lines(JAN | {"source_name": "A page", "holding_archive": "NL-NH-AMS-M-RM", "claims": [claim]})
    assert seen(entry).source_name == "A page"
    assert seen(entry).claims == (
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


def test_blank_lines_are_passed_over_and_counted() -> None:
    assert [entry.line for entry in lines("", JAN, "  ", JAN)] == [2, 4]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nonsense", "not JSON"),
        ("[1]", "JSON object"),
        ("[" * 100_000, "not JSON"),
        ({"source_url": "https://example.org/"}, "retrieval_timestamp"),
        (JAN | {"claim": []}, "no field claim: there are source_url"),
        (JAN | {"claims": {"type": "name"}}, "claims must be a list"),
        (JAN | {"claims": ["Jan"]}, "claims[1] is no JSON object"),
        (JAN | {"claims": [{"type": "name", "value": "x"}, {"type": "name"}]}, "the claims[2].value is missing"),
        (JAN | {"claims": [{"type": "name", "value": "x", "confidence": "high"}]}, "claims[1].confidence: expected"),
        (JAN | {"claims": [{"type": "name", "value": "x", "sure": 1}]}, "no field claims[1].sure"),
        (JAN | {"claims": [{"type": "name", "value": {"surname": "x"}}]}, "no field claims[1].value.surname"),
        (JAN | {"claims": [{"type": "age", "value": "9", "where": {"leaf": "x"}}]}, "no field claims[1].where.leaf"),
        (JAN | {"claims": [{"type": "age", "value": "9", "status": "sure"}]}, "claims[1].status"),
    ],
)
def test_a_line_that_is_refused_names_the_part(line: str | dict[str, Any], told: str) -> None:
    [entry] = lines(line)
    assert told in refused(entry)


@pytest.mark.parametrize(
    ("field", "rule"),
    [("source_url", "POID must have source"), ("retrieval_timestamp", "Valid timestamps"), ("content_hash", None)],
)
def test_what_is_missing_is_named_with_the_rule_that_wants_it(field: str, rule: str | None) -> None:
    for said in ({key: told for key, told in JAN.items() if key != field}, JAN | {field: 5}):
        [entry] = lines(said)
        assert isinstance(entry, Refused)
        assert (entry.part, entry.rule) == (field, rule)


def test_claims_stand_in_a_list_or_in_the_field_of_that_name() -> None:
    claims = [{"type": "age", "value": "9"}]
    expected = (Claim(type="age", value="9"),)
    assert read_claims(json.dumps(claims).encode()) == expected
    assert read_claims(json.dumps({"claims": claims}).encode()) == expected
    with pytest.raises(InvalidInput, match=r"claims\[1\]"):
        read_claims(b'[{"type": "age"}]')
    with pytest.raises(InvalidInput, match="no field type"):
        read_claims(b'{"type": "age"}')


# Tables


def test_columns_are_mapped_whatever_they_are_called() -> None:
    text = "Link;Naam;Geboren;Rest\nhttps://example.org/1;Jan;1895-03~;x\n"
    [entry] = table(
        text,
        ("source_url", "Link"),
        ("name", "naam"),
        ("birth_date", "Geboren"),
        fixed=(("retrieval_timestamp", WHEN), ("nationality", "NL"), ("language", "nl")),
    )
    assert entry.line == 2
    assert seen(entry).source_url == "https://example.org/1"
    assert seen(entry).retrieval_timestamp == WHEN
    assert seen(entry).claims == (
        Claim(type="name", value="Jan", language="nl"),
        Claim(type="birth_date", value="1895-03~"),  # a date is in no language
        Claim(type="nationality", value="NL", language="nl"),
    )


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_headings_that_are_fields_need_no_mapping(separator: str) -> None:
    header = separator.join(("source_url", "Retrieval_timestamp", "NAME", "https://schema.org/award", "remarks"))
    row = separator.join(("https://example.org/1", WHEN, "Jan", "a medal", "…"))
    known, entries = observation_tables.read(observation_tables.rows([f"{header}\r\n", f"{row}\r\n"]))
    assert known.left_out == ["remarks"]
    [entry] = entries
    assert seen(entry).claims == (
        Claim(type="name", value="Jan"),
        Claim(type="https://schema.org/award", value="a medal"),
    )


def test_a_constant_stands_where_the_row_says_nothing() -> None:
    text = "source_url,age,language\nhttps://example.org/1,9,fy\nhttps://example.org/2,9,\n"
    entries = table(text, fixed=(("retrieval_timestamp", WHEN), ("language", "nl")))
    assert [seen(entry).claims[0].language for entry in entries] == ["fy", "nl"]


def test_the_parts_of_a_name_make_one_claim() -> None:
    parts = [("name.given_name", "Jan"), ("age", "9"), ("name.base_surname", "Vries"), ("name", "J. Vries")]
    assert claims_of(parts) == (
        Claim(type="name", value=PersonName(literal_name="J. Vries", given_name="Jan", base_surname="Vries")),
        Claim(type="age", value="9"),
    )
    with pytest.raises(InvalidInput, match="only one"):
        claims_of([*parts, ("name.given_name", "Piet")])
    with pytest.raises(InvalidInput, match="only one"):
        claims_of([*parts, ("name", "Piet")])


def test_two_columns_of_one_type_make_two_claims() -> None:
    text = "source_url,A,B\nhttps://example.org/1,smith,\nhttps://example.org/2,smith,verger\n"
    mapped = (("source_url", "source_url"), ("occupation", "A"), ("occupation", "B"))
    entries = table(text, *mapped, fixed=(("retrieval_timestamp", WHEN),))
    assert [[claim.value for claim in seen(entry).claims] for entry in entries] == [["smith"], ["smith", "verger"]]


def test_a_row_without_a_hash_is_hashed_as_documented() -> None:
    text = 'name,source_url,notes,\n Aaltje "de" B\u00f6er ,https://example.org/1,,extra\n'
    [entry] = table(text, fixed=(("retrieval_timestamp", WHEN),))
    written = '{"#4":"extra","name":"Aaltje \\"de\\" B\u00f6er","source_url":"https://example.org/1"}'
    assert seen(entry).content_hash == sha256(written.encode()).hexdigest()


def test_the_hash_of_a_row_does_not_depend_on_the_order_of_the_columns() -> None:
    one = table("source_url,name\nhttps://example.org/1,Jan\n", fixed=(("retrieval_timestamp", WHEN),))
    other = table("name;source_url\nJan;https://example.org/1\n", fixed=(("retrieval_timestamp", WHEN),))
    changed = table("name;source_url\nJane;https://example.org/1\n", fixed=(("retrieval_timestamp", WHEN),))
    assert seen(one[0]).content_hash == seen(other[0]).content_hash != seen(changed[0]).content_hash


def test_rows_without_a_word_are_passed_over() -> None:
    text = f"source_url,retrieval_timestamp,age\n,,\n\nhttps://example.org/1,{WHEN},9\n , , \n"
    assert [entry.line for entry in table(text)] == [4]


@pytest.mark.parametrize(
    ("text", "mapped", "told"),
    [
        ("", (), "empty"),
        ("source_url,age\n", (), "nothing gives the retrieval_timestamp: say --map"),
        ("source_url,retrieval_timestamp\n", (), "no column makes a claim"),
        ("a,a\n", (("age", "a"),), "two columns are headed"),
        ("a,b\n", (("age", "c"),), "no column 'c' for age; the first line has: a, b"),
        ("a,b\n", (("shoe", "a"),), "'shoe' is no field"),
        ("a,b\n", (("source_url", "a"), ("source_url", "b")), "source_url is given twice"),
    ],
)
def test_a_table_that_cannot_be_read_says_what_to_do(text: str, mapped: tuple[tuple[str, str], ...], told: str) -> None:
    with pytest.raises(InvalidInput) as problem:
        table(text, *mapped)
    assert told in str(problem.value)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (f",{WHEN},9", "source_url is missing"),
        ("https://example.org/1,,9", "retrieval_timestamp is missing"),
        (f"https://example.org/1,{WHEN},9,more", "4 cells, and 3 columns"),
        (f"https://example.org/1,{WHEN},\udce9", "UTF-8"),
        (f'https://example.org/1,{WHEN},"a"b', "CSV"),
        (f'https://example.org/1,{WHEN},"never closed', "quotation mark"),
    ],
)
def test_a_row_that_is_refused_says_why(row: str, told: str) -> None:
    *good, bad = table(f"source_url,retrieval_timestamp,age\nhttps://example.org/0,{WHEN},8\n{row}\n")
    assert len(good) == 1
    assert told in refused(bad)
    assert bad.line == 3


def test_a_row_that_cannot_be_read_does_not_end_the_file() -> None:
    text = f'source_url,retrieval_timestamp,age\nhttps://example.org/0,{WHEN},"a"b\nhttps://example.org/1,{WHEN},9\n'
    bad, good = table(text)
    assert "CSV" in refused(bad)
    assert seen(good).claims[0].value == "9"


def test_a_key_that_is_given_twice_is_refused_with_its_place() -> None:
    twice = json.dumps(JAN | {"claims": [{"type": "age", "value": "3"}]}).replace('"value"', '"value": "4", "value"')
    first, problem, last = lines(JAN, twice, JAN)
    seen(first)
    seen(last)
    assert isinstance(problem, Refused)
    assert (problem.line, problem.part) == (2, "claims[1].value")
    assert refused(problem) == "claims[1].value: the key 'value' is given twice"
    with pytest.raises(InvalidInput, match="the key 'type' is given twice"):
        read_claims(b'[{"type": "name", "type": "age", "value": "3"}]')
