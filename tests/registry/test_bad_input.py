"""Bad input: a typed error that names the field, before anything is written, in every API that takes a record."""

import asyncio
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.registry_fixture import (
    ENGINES,
    Office,
    StoreFactory,
    describe,
    locations_on,
    open_office,
    set_target,
    set_values,
)

from perdure import ppid
from perdure.errors import InvalidInput, NotAuthorised, OutOfRange, PerdureError
from perdure.records.record import About
from perdure.records.validation import Limits
from perdure.records.value import Admin, AdminRights, Binary, Data, Reference, Text, Value, ValueList
from perdure.registry import (
    Settings,
    Statement,
    add_agent,
    add_prefix,
    add_values,
    authenticate,
    bind,
    diff,
    find_by_value,
    grant,
    history,
    mint,
    new_key,
    recover_access,
    reinstate,
    resolve,
    revoke_key,
    search,
    show,
    transfer_identifiers,
    transfer_prefix,
    withdraw,
)

SMALL = Limits(value_bytes=100, values=3, record_bytes=600, url_characters=50, text_characters=20)


@pytest.fixture
def sample_office(runner: asyncio.Runner, store_factory: StoreFactory) -> Office:
    """12345/a has a target, 12345/r is reserved, and records must be small."""
    office = open_office(runner, store_factory(), settings=Settings(limits=SMALL))
    office.prefix("12345", "chosen")
    office.do(mint, "12345", suffixes=["a"], statement=Statement("https://example.org/"))
    office.do(mint, "12345", suffixes=["r"])
    return office


TARGETS = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "data:text/html,<script>",
    "vbscript:x",
    "file:///etc/passwd",
    "gopher://example.org/",
    "example.org",
    "//example.org/",
    "/relative",
    "",
    "https:",
    "https://",
    "https:///path",
    "https://?query",
    "http:example.org",
    "https://example.org/\n",
    "https://example.org/\r\nSet-Cookie: a=b",
    "https://example.org/\x00",
    "https://example.org/\x7f",
    "https://example.org/\u2028",
    "https://example.org/\ud800",
    "\nhttps://example.org/",
    " javascript:alert(1)",
    "https://example.org/" + "x" * 50,
]


def test_a_target_that_no_reader_should_follow_is_refused(sample_office: Office) -> None:
    before = sample_office.snapshot()
    calls: dict[Callable[[str], object], str] = {
        lambda target: sample_office.do(mint, "12345", suffixes=["n"], statement=Statement(target)): "target",
        lambda target: sample_office.do(bind, "12345/r", Statement(target)): "target",
        lambda target: sample_office.do(set_target, "12345/a", target): "target",
        lambda target: sample_office.do(set_values, "12345/a", [Value(1, "URL", Text(target))]): "values[1].data",
    }
    for target in TARGETS:
        for call, part in calls.items():
            with pytest.raises(InvalidInput) as refusal:
                call(target)
            assert refusal.value.part == part, ascii(target)
    assert sample_office.snapshot() == before


def test_a_blank_is_accepted_in_a_url_value_but_not_in_a_target(sample_office: Office) -> None:
    with pytest.raises(InvalidInput, match="not an absolute URL"):
        sample_office.do(set_target, "12345/a", " https://example.org/")
    sample_office.do(set_values, "12345/a", [Value(1, "URL", Text(" https://example.org/"))])
    url = "https://example.org/a b"
    with pytest.raises(InvalidInput, match="percent-encoded"):
        sample_office.do(mint, "12345", suffixes=["n"], statement=Statement(url))
    with pytest.raises(InvalidInput, match="percent-encoded"):
        sample_office.do(set_target, "12345/a", url)
    sample_office.do(set_values, "12345/a", [Value(1, "URL", Text(url))])
    assert sample_office.ask(resolve, "12345/a").target == url


@pytest.mark.parametrize("type", ["url", "Url"])
def test_a_type_in_another_case_is_checked_too(sample_office: Office, type: str) -> None:
    """Handle clients compare types without case, and would follow it."""
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(set_values, "12345/a", [Value(1, type, Text("javascript:alert(1)"))])
    assert refusal.value.part == "values[1].data"


def test_a_target_in_bytes_is_checked_too(sample_office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(set_values, "12345/a", [Value(1, "URL", Binary(b"javascript:alert(1)"))])
    assert refusal.value.part == "values[1].data"


@pytest.mark.parametrize(
    "target",
    ["https://example.org/", "http://x", "ftp://example.org/f", "mailto:jan@example.org", "HTTPS://EXAMPLE.ORG"],
)
def test_the_usual_schemes_are_allowed(sample_office: Office, target: str) -> None:
    sample_office.do(set_target, "12345/a", target)
    assert sample_office.ask(resolve, "12345/a").target == target


def test_allowed_schemes_are_a_setting_but_script_schemes_are_always_refused(sample_office: Office) -> None:
    limits = Limits(schemes=("gopher", "javascript", "data"))
    registry = sample_office.with_settings(limits=limits)
    sample_office.run(set_target(registry, sample_office.admin, "12345/a", "gopher://example.org/"))
    for target in ("javascript:alert(1)", "data:text/html,x", "https://example.org/"):
        with pytest.raises(InvalidInput) as refusal:
            sample_office.run(set_target(registry, sample_office.admin, "12345/a", target))
        assert refusal.value.part == "target"


def value(index: int = 5, type: str = "DESC", data: Data | None = None, **fields: object) -> Value:
    return Value(index, type, Text("x") if data is None else data, **fields)  # type: ignore[arg-type]


VALUES: dict[str, tuple[list[Value], str]] = {
    "index 0": ([value(0)], "index"),
    "index -1": ([value(-1)], "index"),
    "index too large": ([value(2**31)], "index"),
    "index doubled": ([value(5), value(5)], "index"),
    "no type": ([value(type="")], "values[5].type"),
    "blank type": ([value(type="  ")], "values[5].type"),
    "control in type": ([value(type="A\nB")], "values[5].type"),
    "surrogate in type": ([value(type="A\ud800")], "values[5].type"),
    "type too long": ([value(type="T" * 256)], "values[5].type"),
    "secret": ([value(type="HS_SECKEY")], "values[5].type"),
    "secret in lower case": ([value(type="hs_seckey")], "values[5].type"),
    "control in data": ([value(data=Text("a\x00b"))], "values[5].data"),
    "escape in data": ([value(data=Text("a\x1b[2J"))], "values[5].data"),
    "C1 control in data": ([value(data=Text("a\x9bb"))], "values[5].data"),
    "surrogate in data": ([value(data=Text("\ud800"))], "values[5].data"),
    "data too long": ([value(data=Text("é" * 51))], "values[5].data"),
    "bytes too long": ([value(data=Binary(b"x" * 101))], "values[5].data"),
    "permissions": ([value(permissions="111")], "values[5].permissions"),
    "permissions in letters": ([value(permissions="rwrw")], "values[5].permissions"),
    "negative lifetime": ([value(ttl=-1)], "values[5].ttl"),
    "lifetime too long": ([value(ttl=2**31)], "values[5].ttl"),
    "lifetime no date": ([value(ttl="tomorrow")], "values[5].ttl"),
    "lifetime on 31 February": ([value(ttl="2027-02-31T00:00:00Z")], "values[5].ttl"),
    "timestamp in words": ([value(timestamp="yesterday")], "values[5].timestamp"),
    "timestamp without zone": ([value(timestamp="2027-01-01T00:00:00")], "values[5].timestamp"),
    "timestamp date only": ([value(timestamp="2027-01-01")], "values[5].timestamp"),
    "timestamp on 31 February": ([value(timestamp="2026-02-31T00:00:00Z")], "values[5].timestamp"),
    "timestamp at hour 99": ([value(timestamp="2026-01-01T99:99:99Z")], "values[5].timestamp"),
    "admin permissions": ([value(data=Admin(AdminRights("1/a", 1, "1")))], "values[5].data.permissions"),
    "admin handle": ([value(data=Admin(AdminRights("", 1, "1" * 12)))], "values[5].data.handle"),
    "admin index": ([value(data=Admin(AdminRights("1/a", -1, "1" * 12)))], "values[5].data.index"),
    "list handle": ([value(data=ValueList((Reference("a\nb", 1),)))], "values[5].data.handle"),
    "list index": ([value(data=ValueList((Reference("1/a", -1),)))], "values[5].data.index"),
    "reference handle": ([value(references=(Reference("a\x00b", 1),))], "values[5].references"),
    "reference index": ([value(references=(Reference("1/a", -1),))], "values[5].references"),
    "reference surrogate": ([value(references=(Reference("\ud800", 1),))], "values[5].references"),
    "too many": ([value(index) for index in (5, 6, 7, 8)], "values"),
}


@pytest.mark.parametrize(("values", "part"), VALUES.values(), ids=VALUES.keys())
def test_an_invalid_value_is_refused_by_every_api(sample_office: Office, values: list[Value], part: str) -> None:
    before = sample_office.snapshot()
    calls: list[Callable[[], object]] = [
        lambda: sample_office.do(mint, "12345", suffixes=["n"], statement=Statement(values=tuple(values))),
        lambda: sample_office.do(bind, "12345/r", Statement(values=tuple(values))),
        lambda: sample_office.do(set_values, "12345/a", values),
    ]
    # Added values get their timestamp from the registry, and index 0 means any free index.
    if "timestamp" not in part and values[0].index != 0:
        calls.append(lambda: sample_office.do(add_values, "12345/a", values))
    for call in calls:
        with pytest.raises(InvalidInput) as refusal:
            call()
        assert refusal.value.part == part
    assert sample_office.snapshot() == before


def test_added_values_count_together_with_existing_ones(sample_office: Office) -> None:
    sample_office.do(add_values, "12345/a", [value(5), value(6)])
    with pytest.raises(OutOfRange) as refusal:
        sample_office.do(add_values, "12345/a", [value(7)])
    assert refusal.value.part == "values"


def test_the_size_of_a_record_is_limited(sample_office: Office) -> None:
    large = [value(index, data=Text("x" * 100), type="T" * 200) for index in (5, 6)]
    before = sample_office.snapshot()
    for call in (
        lambda: sample_office.do(mint, "12345", suffixes=["n"], statement=Statement(values=tuple(large))),
        lambda: sample_office.do(bind, "12345/r", Statement(values=tuple(large))),
        lambda: sample_office.do(add_values, "12345/a", large),
    ):
        with pytest.raises(OutOfRange) as refusal:
            call()
        assert refusal.value.part == "record"
    assert sample_office.snapshot() == before


def test_a_target_and_a_value_do_not_share_an_index(sample_office: Office) -> None:
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(mint, "12345", suffixes=["n"], statement=Statement("https://example.org/", values=(value(1),)))
    assert refusal.value.part == "index"


@pytest.mark.parametrize("field", ["who", "what", "when", "where"])
def test_a_description_is_lines_of_text(sample_office: Office, field: str) -> None:
    before = sample_office.snapshot()
    for text in ("", "a\nb", "a\x1bb", "\ud800", "x" * 21):
        about = About(**{field: text})
        statement = Statement("https://example.org/", about=about)
        for act, *arguments in (
            (bind, "12345/r", statement),
            (describe, "12345/a", about),
        ):
            with pytest.raises(InvalidInput) as refusal:
                sample_office.do(act, *arguments)
            assert refusal.value.part == f"about.{field}"
        with pytest.raises(InvalidInput):
            sample_office.do(mint, "12345", suffixes=["n"], statement=statement)
    assert sample_office.snapshot() == before


def test_the_number_of_owners_is_limited(sample_office: Office) -> None:
    owners = tuple(f"https://example.org/{number}" for number in range(101))
    with pytest.raises(InvalidInput) as refusal:
        sample_office.do(mint, "12345", suffixes=["n"], statement=Statement("https://example.org/", owners=owners))
    assert refusal.value.part == "owners"


# Every use case that takes a name, a prefix, an agent or a word, given what no database can hold or no person would type.
NONSENSE = [
    "",
    " ",
    "/",
    "x",
    "a/b/c",
    "\x00",
    "12345/\x00",
    "\ud800",
    "12345/\ud800",
    "\U0001f600/zz",
    "a" * 5000,
    "%",
    "*",
]
CALLS: dict[str, Callable[[Office, str], object]] = {
    "show": lambda o, text: o.ask(show, text),
    "resolve": lambda o, text: o.ask(resolve, text),
    "history": lambda o, text: o.ask(history, text),
    "diff": lambda o, text: o.ask(diff, text, 1, 1),
    "uuid": lambda o, text: o.run(ppid.ppid_to_uuid(text, o.registry)),
    "search": lambda o, text: o.ask(search, [text]),
    "reverse": lambda o, text: o.ask(find_by_value, text),
    "set": lambda o, text: o.do(set_target, text, "https://example.org/"),
    "withdraw": lambda o, text: o.do(withdraw, text, "gone"),
    "reinstate": lambda o, text: o.do(reinstate, text),
    "replaced by": lambda o, text: o.do(withdraw, "12345/a", "gone", replaced_by=text),
    "mint": lambda o, text: o.do(mint, text),
    "creator": lambda o, text: o.do(mint, "12345", suffixes=["n"], statement=Statement("https://x.org/", creator=text)),
    "transfer": lambda o, text: o.do(transfer_identifiers, [text], "admin"),
    "transfer to": lambda o, text: o.do(transfer_identifiers, ["12345/a"], text),
    "transfer prefix": lambda o, text: o.do(transfer_prefix, text, "admin"),
    "transfer from": lambda o, text: o.do(transfer_prefix, "12345", "admin", giver=text or "nobody"),
    "grant to": lambda o, text: o.do(grant, text, "12345", ["mint"]),
    "grant on": lambda o, text: o.do(grant, "admin", text + "/", ["mint"]),
    "key for": lambda o, text: o.do(new_key, text),
    "revoke key": lambda o, text: o.do(revoke_key, text),
    "recover": lambda o, text: o.ask(recover_access, text, "lost"),
    "authenticate": lambda o, text: o.ask(authenticate, text),
    "agent": lambda o, text: o.do(add_agent, "jan", "Jan", identifier=text),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_invalid_input_is_refused_by_every_api_without_a_crash(
    sample_office: Office, call: Callable[[Office, str], object]
) -> None:
    before = sample_office.snapshot()
    for text in NONSENSE:
        try:
            answer = call(sample_office, text)
        except PerdureError as refusal:
            assert refusal.code in {
                "invalid-name",
                "invalid-input",
                "out-of-range",
                "no-such-name",
                "no-such-prefix",
                "bad-key",
                "no-such-agent",
            }
        except Exception as problem:  # the text in the message is what one wants to see first
            pytest.fail(f"{text[:20]!a}: {problem!r}")
        else:
            assert answer == [], f"{text[:20]!a}"
    assert sample_office.snapshot() == before


@settings(max_examples=150)
@given(st.text(max_size=60))
def test_any_typed_text_is_found_or_refused(office_for_all: Office, text: str) -> None:
    for use_case in (show, resolve):
        with pytest.raises(PerdureError):
            office_for_all.ask(use_case, text)


@pytest.fixture(scope="module", params=ENGINES)
def office_for_all(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """One registry for all examples: nothing is written to it."""
    locations = locations_on(request.param, tmp_path_factory.mktemp("all"))
    with asyncio.Runner() as runner:
        yield open_office(runner, locations.open())
    locations.close()


def test_a_refusal_names_the_agent_and_the_missing_grant(sample_office: Office) -> None:
    jan = sample_office.hire("jan")
    with pytest.raises(NotAuthorised) as refusal:
        sample_office.by(jan, add_prefix, "777")
    assert str(refusal.value) == "permission denied: 'jan' has no grant to admin on the whole registry"
