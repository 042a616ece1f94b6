"""Strategies of the property tests: names, and the inputs of names."""

from fractions import Fraction

from hypothesis import strategies as st

from perdure import handle, pilin
from perdure.names import instant

_REFUSED = {code for low, high, _ in handle.REFUSED if high < 0x10000 for code in range(low, high + 1)}

handle_characters = st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]).filter(
    lambda character: ord(character) not in _REFUSED
)
prefixes = st.one_of(
    st.from_regex(r"[0-9]{1,5}(\.[0-9A-Za-z]{1,5}){0,3}", fullmatch=True),
    st.text(handle_characters, min_size=1).filter(lambda text: "/" not in text and not text.lower().startswith("h")),
)
handles = st.builds(handle.Handle, prefixes, st.text(handle_characters, min_size=1)).filter(
    lambda name: ":" not in name.prefix
)

milliseconds = st.integers(0, pilin.LIMIT - 1)

words = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
last_words = st.from_regex(r"[a-z]([a-z0-9-]{0,5}[a-z0-9])?", fullmatch=True)
hosts = st.builds(
    lambda first, middle, last: ".".join([first, *middle, last]), words, st.lists(words, max_size=3), last_words
)
ports = st.integers(1, 65_535)
ip_addresses = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)

decimal_places = st.text("0123456789", max_size=40).map(lambda digits: Fraction(int(digits or 0), 10 ** len(digits)))


def dates(first: int, last: int = instant.MAX_SECONDS - 1) -> st.SearchStrategy[Fraction]:
    """Exact dates with decimal fractions of any length."""
    return st.builds(lambda whole, fraction: whole + fraction, st.integers(first, last), decimal_places)


granularities = st.one_of(st.just(Fraction(60)), st.integers(0, 9).map(lambda exponent: Fraction(1, 10**exponent)))

ppid_digits = st.text("0123456789abcdef", min_size=15, max_size=15)
ppid_types = st.sampled_from(["POID", "PRID"])
sha256s = st.text("0123456789abcdef", min_size=64, max_size=64)
