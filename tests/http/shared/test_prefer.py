"""The header Prefer: known preferences are found among others, and malformed ones are ignored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.http.shared.prefer import NO_PREFERENCES, Preferences, parse_prefer


@pytest.mark.parametrize(
    ("header", "preferences"),
    [
        (None, Preferences()),
        ("", Preferences()),
        ("wait=10", Preferences(10)),
        ('wait="10"', Preferences(10)),
        ("Respond-Async", Preferences(None, True)),
        ("respond-async; foo=bar, wait = 3", Preferences(3, True)),
        ('foo="respond-async, wait=1"', Preferences()),
        ("wait=1, wait=2", Preferences(1)),
        ("respond-async=no", Preferences()),
        ("wait=-1, wait=1e3", Preferences()),
        ("wait=99999999999", Preferences()),
        ("return=minimal, , respond-async", Preferences(None, True)),
    ],
)
def test_preferences_are_found(header: str | None, preferences: Preferences) -> None:
    assert parse_prefer(header) == preferences


@given(st.text(max_size=50))
def test_no_header_is_an_error(header: str) -> None:
    parsed = parse_prefer(header)
    assert parsed.wait is None or parsed.wait >= 0
    assert parsed == NO_PREFERENCES or "wait" in header.lower() or "respond-async" in header.lower()
