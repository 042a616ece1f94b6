import uuid
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum.iso7064 import mod_11_2
from tests.strategies import ppid_digits, ppid_types, sha256s

from perdure import InvalidInput, InvalidName, OutOfRange, ppid
from perdure.names.check_digit import check_digit
from perdure.names.ppid_inputs import check_timestamp

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
NOON = "2025-01-09T10:30:00Z"
JAN = "POID-93b0-4476-560e-5ac1"
CURATOR = "https://orcid.org/0000-0002-1825-0097"


def printed_check_digit(digits: str) -> str:
    """Compute the check digit as section 4.1 prints it."""
    total = 0
    for character in digits.lower():
        total = (total + int(character, 16)) * 2
    result = (12 - total % 11) % 11
    return "X" if result == 10 else str(result)


@given(ppid_digits)
def test_the_check_digit_is_that_of_the_printed_algorithm(digits: str) -> None:
    assert check_digit(digits) == check_digit(digits.upper()) == printed_check_digit(digits)


@given(st.text("0123456789", min_size=15, max_size=15))
def test_over_decimal_digits_the_check_digit_is_that_of_the_standard(digits: str) -> None:
    assert check_digit(digits) == mod_11_2.calc_check_digit(digits)


def write(kind: str, digits: str) -> str:
    sixteen = digits + printed_check_digit(digits)
    return "-".join([kind, *(sixteen[at : at + 4] for at in range(0, 16, 4))])


@given(ppid_types, ppid_digits)
def test_parsing_undoes_writing_in_any_case(kind: str, digits: str) -> None:
    name = write(kind, digits)
    for text in (name, name.lower(), name.upper()):
        assert ppid.validate_ppid(text)
        assert ppid.canonical(text) == name
        assert ppid.parse_ppid(text) == {"type": kind, "hex": digits, "checksum": name[-1]}


@given(ppid_types, ppid_digits, st.sampled_from("0123456789X"))
def test_every_other_check_digit_is_wrong_and_the_right_one_is_suggested(kind: str, digits: str, check: str) -> None:
    right = write(kind, digits)
    text = right[:-1] + check
    assert ppid.validate_ppid(text) == (text == right)
    if text != right:
        with pytest.raises(InvalidName) as caught:
            ppid.parse_ppid(text)
        assert caught.value.suggestion == right
        assert caught.value.part == "check digit"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("93b0-4476-560e-5ac1", 0),
        ("PXID-93b0-4476-560e-5ac1", 0),
        ("POID93b0-4476-560e-5ac1", 4),
        ("POID-93g0-4476-560e-5ac1", 7),
        ("POID-93b0-4476-560e-5aca", 23),  # a check digit is never a-f
        ("POID-93b0-4476-560e-5ac", 23),
        ("POID-93b0-4476-560e-5ac11", 24),
        ("POID-93b0-4476-560e-5ac1\n", 24),
        ("POID-93b0-4476-560e-5a\u06611", 22),
        ("POID-93b0 4476-560e-5ac1", 9),
    ],
)
def test_an_error_names_the_invalid_part(text: str, position: int) -> None:
    assert not ppid.validate_ppid(text)
    assert ppid.validate_ppid_full(text) == (False, "Invalid syntax")
    with pytest.raises(InvalidName) as caught:
        ppid.parse_ppid(text)
    assert caught.value.position == position


def test_the_messages_of_section_11() -> None:
    assert ppid.validate_ppid_full(JAN) == (True, "Valid")
    assert ppid.validate_ppid_full(JAN[:-1] + "2") == (False, "Invalid checksum")
    assert ppid.validate_ppid_syntax(JAN[:-1] + "2")
    assert ppid.validate_ppid_full("POID") == (False, "Invalid syntax")


@pytest.mark.parametrize("value", [None, 5, JAN.encode()])
def test_only_text_is_a_ppid(value: object) -> None:
    assert not ppid.validate_ppid(value)  # type: ignore[arg-type]
    assert not ppid.validate_ppid_syntax(value)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        ppid.parse_ppid(value)  # type: ignore[arg-type]


def test_vectors() -> None:
    zeros = "0" * 64
    assert ppid.generate_poid("https://example.org/staff/jan", NOON, zeros) == JAN
    assert ppid.generate_prid([JAN], CURATOR, NOON) == "PRID-5ccc-3780-8c9c-5a90"
    six = ppid.generate_poid("https://example.org/staff/6", NOON, zeros)
    assert six == "POID-5841-3d40-65d0-5c6X"
    assert ppid.generate_prid([six], CURATOR, NOON) == "PRID-1b91-673b-631c-5ff5"


def test_the_known_collision() -> None:
    names, raws = set(), []
    for i in (291994108, 292908847):
        source = f"https://example.org/archive/{i}"
        names.add(ppid.generate_poid(source, NOON, EMPTY))
        raws.append(ppid.poid_uuid(source, NOON, EMPTY))
    assert names == {"POID-fc9c-a181-59cc-5035"}
    assert raws == [
        uuid.UUID("fc9ca181-59cc-5031-96d2-65f6ed9b7ce9"),
        uuid.UUID("fc9ca181-59cc-503c-8484-819b5af03dd2"),
    ]


@given(st.from_regex(r"https?://[a-z]{1,9}\.org/[!-~à-ü]{0,30}", fullmatch=True), st.datetimes(), sha256s, st.uuids())
def test_a_poid_is_cut_from_the_uuid_of_its_inputs(
    url: str, when: datetime, content_hash: str, namespace: uuid.UUID
) -> None:
    timestamp = when.isoformat() + "Z"
    raw = ppid.poid_uuid(url, timestamp, content_hash, namespace=namespace)
    text = f"{url}|{check_timestamp(timestamp)}|{content_hash}"
    assert raw == uuid.uuid5(uuid.uuid5(namespace, "PersonObservation"), text)
    made = ppid.generate_poid(url, timestamp, content_hash, namespace=namespace)
    assert made == ppid.uuid_to_ppid(raw, "POID") == write("POID", raw.hex[:15])
    assert ppid.validate_ppid(made)


@given(st.lists(ppid_digits, min_size=1, max_size=5))
def test_a_prid_does_not_depend_on_order_case_or_repeats(digits: list[str]) -> None:
    observations = [write("POID", d) for d in digits]
    shuffled = [name.upper() for name in observations[::-1]] + observations[:1]
    assert ppid.generate_prid(observations, CURATOR, NOON) == ppid.generate_prid(iter(shuffled), CURATOR, NOON)
    raw = ppid.prid_uuid(observations, CURATOR, NOON)
    text = "|".join([*sorted(set(observations)), CURATOR, NOON])
    assert raw == uuid.uuid5(uuid.uuid5(ppid.PPID_NAMESPACE, "PersonReconstruction"), text)


@pytest.mark.parametrize(
    "observations", [[], JAN, ["PRID-5ccc-3780-8c9c-5a90"], [JAN[:-1] + "2"], [None], ["POID"], None]
)
def test_a_prid_is_made_from_valid_poids(observations: list[str]) -> None:
    with pytest.raises((InvalidInput, InvalidName)):
        ppid.generate_prid(observations, CURATOR, NOON)


@pytest.mark.parametrize("curator", ["", "a|b", " a", "a\n", "a\x00", "\ud800", None, 5])
def test_curators_that_are_refused(curator: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ppid.generate_prid([JAN], curator, NOON)
    assert caught.value.part == "curator_id"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org/x",
        "https://a b",
        "https://a\n",
        "//x",
        "https:",
        "https://\ud800",
        "a\u00a0:b",
        "https://",
        "https:///x",
        "C:\\x",
        None,
    ],
)
def test_sources_that_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ppid.generate_poid(url, NOON, EMPTY)
    assert caught.value.part == "source_url"


@pytest.mark.parametrize("content_hash", ["", EMPTY.upper(), EMPTY[:-1], EMPTY + "0", EMPTY + "\n", "g" * 64, None])
def test_hashes_that_are_refused(content_hash: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ppid.generate_poid("https://example.org/", NOON, content_hash)
    assert caught.value.part == "content_hash"


@pytest.mark.parametrize(
    ("given_as", "hashed_as"),
    [
        (NOON, NOON),
        ("2025-01-09T11:30:00+01:00", NOON),
        ("2025-01-09T11:30:00+0100", NOON),
        ("2025-01-09T11:30:00+01", NOON),
        ("2025-01-09T02:30:00.000-08:00", NOON),
        ("20250109T103000Z", NOON),
        ("2025-01-09T10:30Z", NOON),
        ("2025-01-09T10:30:00.250000Z", "2025-01-09T10:30:00.25Z"),
        ("2025-01-09T10:30:00,25Z", "2025-01-09T10:30:00.25Z"),
        ("2025-01-09T10:30:00.1234560Z", "2025-01-09T10:30:00.123456Z"),
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
        ("2024-12-31T23:30:00-01:00", "2025-01-01T00:30:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_timestamps_are_rewritten_to_utc(given_as: str, hashed_as: str) -> None:
    assert check_timestamp(given_as) == hashed_as


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.integers(-1439, 1439))
def test_timestamps_agree_with_pythons_own_reading(when: datetime, offset_minutes: int) -> None:
    aware = when.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    rewritten = check_timestamp(aware.isoformat())
    assert rewritten.endswith("Z")
    assert datetime.fromisoformat(rewritten) == aware
    assert check_timestamp(rewritten) == rewritten


@pytest.mark.parametrize(
    "timestamp",
    ["", "2025-01-09", "2025-01-09T10:30:00", "2025-01-09 10:30:00Z", "2025-02-29T00:00:00Z", "2025-01-09T24:00:00Z",
     "2025-01-09T23:59:60Z", "2025-13-01T00:00:00Z", "2025-01-09T10:30:00.1234567Z", "2025-01-09T10:30:00+24:00",
     "2025-W02-4T10:30:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "2025-01-09T10:30:00.Z",
     "2025-01-09T10:30:00Z\n", "\u0662025-01-09T10:30:00Z", "2007-06-22T702:53:46Z", "+12025-01-09T10:30:00Z", None],
)  # fmt: skip
def test_timestamps_that_are_refused(timestamp: str) -> None:
    with pytest.raises((InvalidInput, OutOfRange)) as caught:
        ppid.generate_poid("https://example.org/", timestamp, EMPTY)
    assert caught.value.part == "timestamp"


def test_a_namespace_is_a_uuid() -> None:
    for namespace in ("x", [], None):
        with pytest.raises(InvalidInput) as caught:
            ppid.generate_poid("https://example.org/", NOON, EMPTY, namespace=namespace)  # type: ignore[arg-type]
        assert caught.value.part == "namespace"


def test_uuid_to_ppid_checks_its_inputs() -> None:
    with pytest.raises(InvalidInput):
        ppid.uuid_to_ppid("93b04476-560e-5aca-a783-906230499222", "POID")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        ppid.uuid_to_ppid(uuid.uuid4(), "poid")  # type: ignore[arg-type]


@given(ppid_types, ppid_digits, st.integers(1, 1000))
def test_successors_are_made_from_the_name_and_the_count(kind: str, digits: str, n: int) -> None:
    name = write(kind, digits)
    space = {"POID": "PersonObservation", "PRID": "PersonReconstruction"}[kind]
    raw = uuid.uuid5(uuid.uuid5(ppid.PPID_NAMESPACE, space), f"{name}|collision:{n}")
    assert ppid.successor(name.lower(), n) == write(kind, raw.hex[:15])


@pytest.mark.parametrize("n", [0, -1, True, 1.0, "1", 10**5000], ids=lambda n: f"{n!r:.9}" if n != 10**5000 else "huge")
def test_successors_are_counted_from_1(n: int) -> None:
    with pytest.raises(InvalidInput):
        ppid.successor(JAN, n)


def one_slip_away(name: str) -> set[str]:
    """Return, by brute force, every valid name that is one substitution or one adjacent swap away."""
    digits = name[5:].replace("-", "")[:15]
    pairs = {frozenset(pair) for pair in ("0b", "1c", "2d", "3e", "4f")}
    found = set()
    for at in range(15):
        for digit in "0123456789abcdef":
            if frozenset((digit, digits[at])) in pairs:
                found.add(digits[:at] + digit + digits[at + 1 :])
        if at < 14 and frozenset(digits[at : at + 2]) in pairs:
            found.add(digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :])
    return {write(name[:4], slip) for slip in found}


@given(ppid_types, ppid_digits)
def test_neighbours_are_all_valid_identifiers_with_one_typing_error(kind: str, digits: str) -> None:
    name = write(kind, digits)
    neighbours = ppid.neighbours(name)
    assert len(neighbours) == len(set(neighbours))
    assert set(neighbours) == one_slip_away(name)
    assert all(ppid.validate_ppid(neighbour) and neighbour[-1] == name[-1] for neighbour in neighbours)
    assert all(name in ppid.neighbours(neighbour) for neighbour in neighbours)


@given(ppid_types, ppid_digits, st.integers(0, 14), st.sampled_from("0123456789abcdef"))
def test_a_single_substitution_goes_unnoticed_only_among_neighbours(
    kind: str, digits: str, at: int, digit: str
) -> None:
    name = write(kind, digits)
    changed = digits[:at] + digit + digits[at + 1 :]
    text = write(kind, changed)[:-1] + name[-1]
    if text != name:
        assert ppid.validate_ppid(text) == (text in ppid.neighbours(name))
