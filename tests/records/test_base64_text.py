"""Base64 in the spellings that clients use."""

import textwrap
from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.records.base64_text import decode_base64


@given(
    st.binary(max_size=200), st.booleans(), st.booleans(), st.integers(1, 80), st.sampled_from(["\n", "\r\n", "\n "])
)
def test_every_spelling_is_decoded(raw: bytes, is_url_safe: bool, is_padded: bool, width: int, line_end: str) -> None:
    text = (urlsafe_b64encode if is_url_safe else b64encode)(raw).decode()
    lines = textwrap.wrap(text if is_padded else text.rstrip("="), width)
    assert decode_base64(line_end.join(lines) + line_end) == raw


@pytest.mark.parametrize("text", ["A", "AAAAA", "A?==", "é", "AA=A", "AA==AA"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (the only error of base64)
        decode_base64(text)
