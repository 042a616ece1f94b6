"""Strategies for values of records: everything that validation accepts."""

from hypothesis import settings
from hypothesis import strategies as st

from perdure.names import instant
from perdure.records.record import About
from perdure.records.value import Admin, AdminRights, Binary, Data, Reference, Text, Value, ValueList

FEWER = settings.default.max_examples // 4 if settings.default else 50  # whole records are slow to think up
UNSIGNED = 2**31 - 1
SURROGATES = "Cs"

indexes = st.integers(1, UNSIGNED)
# What one line may hold: no control characters, no separators of lines.
line_texts = st.text(st.characters(exclude_categories=[SURROGATES, "Cc", "Zl", "Zp"]), max_size=20)
# What a value may hold besides: line breaks and tabs.
texts = st.text(
    st.characters(exclude_categories=[SURROGATES, "Cc", "Zl", "Zp"], include_characters="\t\n\r"), max_size=40
)
types = st.sampled_from(["URL", "EMAIL", "DESC", "102.100.TYPE/X"]) | line_texts.filter(str.strip)
names = line_texts.filter(str.strip).map("12345/{}".format)
plain_names = st.text("Abz09._/-", min_size=1, max_size=20).map("12345/{}".format)
permissions = st.text("01", min_size=4, max_size=4)
rights = st.builds(AdminRights, plain_names, indexes, st.text("01", min_size=12, max_size=12))
references = st.builds(Reference, plain_names, indexes)
seconds = st.integers(0, 4_000_000_000)
instants = seconds.map(instant.to_iso)
timestamps = instants
lifetimes = st.integers(0, UNSIGNED)
about = st.builds(About, *[st.none() | line_texts.filter(str.strip)] * 4)


@st.composite
def values(
    draw: st.DrawFn,
    text: st.SearchStrategy[str] = texts,
    kinds: st.SearchStrategy[str] = types,
    ttls: st.SearchStrategy[int | str] = lifetimes | instants,
    binary: bool = True,
) -> Value:
    """One value; administrative data has the same type as in Handle records."""
    form = draw(st.sampled_from(["text", "admin", "list", *(["binary"] if binary else [])]))
    data: Data
    if form == "admin":
        kind, data = "HS_ADMIN", Admin(draw(rights))
    elif form == "list":
        kind, data = "HS_VLIST", ValueList(tuple(draw(st.lists(references, max_size=3))))
    elif form == "binary":
        kind, data = draw(kinds), Binary(draw(st.binary(max_size=40)))
    else:
        kind, data = draw(kinds), Text(draw(text))
    return Value(
        draw(indexes),
        kind,
        data,
        draw(timestamps),
        draw(ttls),
        draw(permissions),
        tuple(draw(st.lists(references, max_size=2))),
    )
