"""The directories of labels: safe on every system, one for each label, and never inside each other."""

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from perdure.collections.label_path import canonical_label, label_to_path, path_to_label
from perdure.collections.portable_names import is_device_name
from perdure.errors import InvalidName
from perdure.names import ibi

_WORDS = st.one_of(
    st.sampled_from(["con", "nul", "aux", "com1", "lpt9", "prn", "br", "inpe", "mtc-m18", "Sid", "8jmkd3mgp8w"]),
    st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9-]{0,8}[A-Za-z0-9])?", fullmatch=True),
)
_PORTS = st.sampled_from(["", "@80", ".80", ".8080", "@1905"])
_TIMES = st.sampled_from(["2009/02.16.17.46", "2010/10.20.15.14.06.05", "1995/12.31.23.59.59", "2009/02.16.17.46.00"])
_REPOSITORY = st.builds(
    lambda subdomain, word, port, time: f"{'.'.join(subdomain)}/{word}{port}/{time}",
    st.lists(_WORDS, min_size=1, max_size=4),
    _WORDS,
    _PORTS,
    _TIMES,
)
_OPAQUE = st.builds(
    lambda ip, port, seconds: str(ibi.opaque_name(str(ip), port, ibi.opaque.EPOCH + seconds)),
    st.ip_addresses(),
    st.integers(1, 65535),
    st.integers(0, 10**10),
)
_LEGACY = st.sampled_from(
    ["APM77Z/KFQ6T", "6qtX3pFwXQZ3r59YD6/GPtJt", "83LX3pFwXQZ5Jpy/Bkjzd", "83LX3pFwXQZ5Jpy/BkjzD"]
)
_LABELS = st.one_of(_REPOSITORY, _OPAQUE, _OPAQUE.map(str.lower), _LEGACY)


def _require_valid(label: str) -> str:
    try:
        ibi.parse_any(label)
    except InvalidName:
        assume(False)
    return label


@given(_LABELS)
@example("con.br/nul/2009/02.16.17.46")
@example("example.org./www/2009/02.16.17.46")
def test_the_path_of_a_label_leads_back_to_it(label: str) -> None:
    assert path_to_label(label_to_path(_require_valid(label))) == canonical_label(label)


@given(_LABELS)
@example("com1.org/com1.8080/2009/02.16.17.46")
@example("example.org./www/2009/02.16.17.46")
def test_a_path_is_safe_on_every_system(label: str) -> None:
    parts = label_to_path(_require_valid(label)).split("/")
    assert len(parts) in (2, 4)
    for part in parts:
        assert re.fullmatch(r"[a-z0-9=.-]{1,255}", part), part
        assert not is_device_name(part)
        assert part[-1] != "."
        assert part not in ("", ".", "..", "extensions")


@given(_LABELS, _LABELS)
@example("APM77Z/KFQ6T", "APM77Z/KFQ6t")
@example("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "sid.inpe.br/mtc-m18/2009/02.16.17.46")
def test_two_labels_have_two_directories_and_none_is_inside_the_other(one: str, other: str) -> None:
    assume(canonical_label(_require_valid(one)) != canonical_label(_require_valid(other)))
    first, second = label_to_path(one), label_to_path(other)
    assert first.casefold() != second.casefold()
    assert not f"{first}/".startswith(f"{second}/")
    assert not f"{second}/".startswith(f"{first}/")


def test_an_opaque_label_that_looks_like_two_directories_of_a_repository_name_is_apart_from_it() -> None:
    opaque = next(
        label
        for number in range(1, 200_000)
        if (label := str(ibi.opaque_name(f"{number % 223 + 1}.{number // 223 % 256}.0.1", 800, 1234806360)))[
            0
        ].isalpha()
        and label.partition("/")[0][-1] == "W"
        and ibi.is_valid(f"{label}/2009/02.16.17.46")
    )
    inside = f"{opaque}/2009/02.16.17.46"
    assert label_to_path(inside).partition("/")[0] != label_to_path(opaque).partition("/")[0]
    assert path_to_label(label_to_path(inside)) == inside.lower()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "A/b",
        "sid.inpe.br/mtc-m18/2009",
        "sid.inpe.br/MTC-m18/2009/02.16.17.46",
        "con.br/www/2009/02.16.17.46",
        "=u0073id.inpe.br/mtc-m18/2009/02.16.17.46",
        "..",
        "8JMKD3MGP8W/34PGRBS",
    ],
)
def test_a_path_that_no_label_has_is_none(path: str) -> None:
    assert path_to_label(path) is None


def test_a_label_that_no_file_system_accepts_is_refused() -> None:
    with pytest.raises(InvalidName):
        label_to_path(f"sid.inpe.br/mtc-m18/2009/02.16.17.46.00.{'1' * 300}")
