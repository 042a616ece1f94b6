"""The headers of tus are parsed strictly."""

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import PerdureError
from perdure.http.items.tus import parse_checksum, parse_metadata, parse_number
from perdure.http.shared.http_errors import MalformedRequest

KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=","), min_size=1, max_size=12)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_metadata_is_read_as_clients_write_it(fields: dict[str, str]) -> None:
    pairs = (f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in fields.items())
    assert parse_metadata(", ".join(pairs)) == fields


@given(st.text(max_size=60))
def test_any_other_metadata_is_refused_or_read(text: str) -> None:
    with suppress(PerdureError):
        assert isinstance(parse_metadata(text), dict)


@pytest.mark.parametrize("text", ["a b", "a YQ==,a YQ==", "a /w==", "é YQ==", "a Y\nQ==", "x" * 20_000])
def test_malformed_metadata_is_refused(text: str) -> None:
    with pytest.raises(PerdureError):
        parse_metadata(text)


@pytest.mark.parametrize("text", ["md5 rL0Y20zC+Fzt72VPzMSk2A==", "sha1 YQ==", "sha1", "", "sha1  x y"])
def test_malformed_checksums_are_refused(text: str) -> None:
    with pytest.raises(MalformedRequest):
        parse_checksum(text)


@pytest.mark.parametrize("text", [None, "", "-1", "1.5", "1e3", "9" * 19, "٣"])
def test_malformed_numbers_are_refused(text: str | None) -> None:
    with pytest.raises(MalformedRequest):
        parse_number(text, "Upload-Length")
