"""The public library: its names, signatures and errors."""

import importlib
import inspect
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure


def test_the_names_of_the_library() -> None:
    assert sorted(perdure.__all__) == [
        "BadKey", "ClockBehind", "ClockJumped", "ClockUnconfirmed", "Conflict", "CountUnknown", "Immutable", "InvalidInput", "InvalidName", "LabelPrefixTaken", "NameTaken", "NoSuchBulkChange", "NoSuchName", "NoSuchPool", "NoSuchPrefix", "NoSuchValue", "NoTarget", "NotAuthorised", "OutOfRange", "OutcomeUnknown", "PerdureError", "Recognition", "SchemaChanged", "StoreBehind", "StoreDamaged", "StoreFull", "StoreSealed", "StoreUnavailable", "ValueExists", "Withdrawn", "WrongState",
        "__version__", "external", "handle", "ibi", "pilin", "ppid", "recognise",
    ]  # fmt: skip
    assert all(hasattr(perdure, name) for name in perdure.__all__)


@pytest.mark.parametrize(
    ("module", "function", "parameters"),
    [
        ("handle", "parse", ["text"]),
        ("handle", "canonical", ["text"]),
        ("handle", "is_valid", ["text"]),
        ("pilin", "parse", ["text"]),
        ("pilin", "canonical", ["text"]),
        ("pilin", "is_valid", ["text"]),
        ("pilin", "encode", ["milliseconds"]),
        ("pilin", "decode", ["suffix"]),
        ("ibi", "repository_prefix", ["host", "port"]),
        ("ibi", "repository_suffix", ["date"]),
        ("ibi", "opaque_prefix", ["ip", "port"]),
        ("ibi", "opaque_suffix", ["date"]),
        ("ibi", "next_date", ["now", "last", "granularity"]),
        ("ibi", "parse", ["label"]),
        ("ibi", "canonical", ["label"]),
        ("ibi", "is_valid", ["label"]),
        ("ppid", "parse", ["text"]),
        ("ppid", "canonical", ["text"]),
        ("ppid", "is_valid", ["text"]),
        ("ppid", "generate_poid", ["source_url", "timestamp", "content_hash"]),
        ("ppid", "generate_prid", ["observation_ids", "curator_id", "timestamp"]),
        ("ppid", "validate_ppid", ["text"]),
        ("ppid", "parse_ppid", ["text"]),
        ("ppid", "ppid_to_uuid", ["text", "registry"]),
        ("ppid", "uuid_to_ppid", ["uuid", "type"]),
        ("external", "parse", ["scheme", "text"]),
        ("external", "canonical", ["scheme", "text"]),
        ("external", "is_valid", ["scheme", "text"]),
    ],
)
def test_the_signatures_of_the_contract(module: str, function: str, parameters: list[str]) -> None:
    signature = inspect.signature(getattr(getattr(perdure, module), function))
    positional = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    assert positional == parameters


def test_a_recognition_has_the_fields_of_the_contract() -> None:
    fields = ["scheme", "canonical", "valid", "reason", "details", "alternatives"]
    assert list(inspect.signature(perdure.Recognition).parameters) == fields


@pytest.mark.parametrize("module", ["handle", "pilin", "ibi", "ppid", "external"])
def test_the_modules_can_be_imported_by_their_public_names(module: str) -> None:
    assert importlib.import_module(f"perdure.{module}") is getattr(perdure, module)


def test_every_error_has_a_stable_code_and_is_documented() -> None:
    errors = [value for value in vars(perdure).values() if isinstance(value, type) and issubclass(value, Exception)]
    codes = {error.code: error.__name__ for error in errors}
    assert len(codes) == len(errors)
    documented = Path(__file__).parents[1].joinpath("docs", "reference", "errors.md").read_text("utf-8")
    for code, name in codes.items():
        assert code == "error" or f"| `{name}` | `{code}` |" in documented
    for error in (perdure.InvalidName, perdure.InvalidInput, perdure.OutOfRange):
        assert issubclass(error, perdure.PerdureError)
        assert issubclass(error, ValueError)


PARSERS = [
    perdure.handle.parse,
    perdure.handle.canonical,
    perdure.handle.unescape,
    perdure.pilin.parse,
    perdure.pilin.decode,
    perdure.pilin.to_datetime,
    perdure.ibi.parse,
    perdure.ibi.canonical,
    perdure.ibi.parse_legacy,
    perdure.ibi.parse_opaque,
    perdure.ibi.parse_repository,
    perdure.ppid.parse,
    perdure.ppid.parse_ppid,
    perdure.ppid.neighbours,
    *(lambda text, scheme=scheme: perdure.external.parse(scheme, text) for scheme in perdure.external.SYSTEMS),
]


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@given(text=st.text())
def test_a_parser_raises_only_errors_of_perdure(parser: object, text: str) -> None:
    try:
        parser(text)  # type: ignore[operator]
    except perdure.PerdureError as error:
        assert str(error)
        assert error.scheme  # type: ignore[attr-defined]
        assert error.part  # type: ignore[attr-defined]


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.fractions(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
)


@pytest.mark.parametrize(
    "writer",
    [
        lambda a, _b, _c: perdure.pilin.encode(a),
        lambda a, b, _c: perdure.ibi.repository_prefix(a, b),
        lambda a, b, _c: perdure.ibi.opaque_prefix(a, b),
        lambda a, _b, _c: perdure.ibi.repository_suffix(a),
        lambda a, _b, _c: perdure.ibi.opaque_suffix(a),
        lambda a, b, c: perdure.ibi.next_date(a, b, c),
        lambda a, b, c: perdure.ppid.generate_poid(a, b, c),
        lambda a, b, c: perdure.ppid.generate_prid([a], b, c),
        lambda a, b, _c: perdure.ppid.uuid_to_ppid(a, b),
    ],
    ids=["pilin", "host", "ip", "date", "seconds", "distributor", "poid", "prid", "uuid"],
)
@given(a=anything, b=anything, c=anything)
def test_a_writer_raises_only_errors_of_perdure(writer: object, a: object, b: object, c: object) -> None:
    try:
        writer(a, b, c)  # type: ignore[operator]
    except perdure.PerdureError as error:
        assert str(error)


def test_values_are_immutable_and_hashable() -> None:
    values = [
        perdure.handle.parse("10.1000/182"),
        perdure.ibi.parse("8JMKD3MGP8W/34PGRBS"),
        perdure.ibi.parse("sid.inpe.br/mtc-m18/2009/02.16.17.46"),
        perdure.ibi.parse_legacy("APM77Z/KFQ6T"),
        perdure.external.parse("wikidata", "Q42"),
        perdure.pilin.parse("Y35XYS0QH"),
        perdure.ppid.parse("POID-93b0-4476-560e-5ac1"),
        perdure.recognise("10.1000/182"),
    ]
    assert len(set(values)) == len(values)
    for value in values:
        for field in value.__dataclass_fields__:
            with pytest.raises(AttributeError):
                setattr(value, field, None)
    assert isinstance(perdure.ibi.parse("8JMKD3MGP8W/34PGRBS").date, Fraction)
