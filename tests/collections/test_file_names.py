"""Names of files inside items: where their content lies, and which are refused."""

import os

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perdure.collections.file_names import PathSet, check_content_path, check_path, comparison_key, content_name
from perdure.collections.portable_names import is_device_name, unescape_name
from perdure.errors import RefusedFile

_SAFE = st.text(alphabet="aAb0?*:|<>\"'%=ué\u0301ßİı", min_size=1, max_size=5)
_PARTS = st.one_of(
    _SAFE,
    _SAFE,
    _SAFE,
    st.text(alphabet="ab=u0?*:|<>\"' .%é\u0301ßİ\x00\x1f/\\", max_size=6),
    st.sampled_from(["..", ".", "", "nul", "CON", "com1.txt", "LPT¹", "aux.", "=u0041", "C:", "\u202e", "\ud800"]),
    st.text(max_size=6),
)
_PATHS = st.one_of(
    st.lists(_SAFE, min_size=1, max_size=3).map("/".join), st.lists(_PARTS, min_size=1, max_size=4).map("/".join)
)


def _require_accepted(path: str) -> str:
    try:
        return check_path(path)
    except RefusedFile:
        assume(False)
        raise


@given(_PATHS)
def test_an_require_accepted_path_stays_inside_and_is_safe_on_every_system(path: str) -> None:
    content = content_name(_require_accepted(path))
    assert os.path.normpath(os.path.join("/item", content)) == f"/item/{content}"
    for part in content.split("/"):
        assert not is_device_name(part)
        assert not set('<>:"|?*\\').intersection(part)
        assert part[-1] not in ". "
        assert all(ord(character) >= 32 for character in part)
        assert len(part.encode()) <= 255


@given(_PATHS)
def test_the_name_of_the_content_leads_back_to_the_path(path: str) -> None:
    assert "/".join(map(unescape_name, content_name(_require_accepted(path)).split("/"))) == path


@given(_PATHS)
def test_content_is_accepted_from_another_collection(path: str) -> None:
    check_content_path(f"v1000/content/{content_name(_require_accepted(path))}")


def test_a_path_is_refused_that_a_disk_could_not_have_with_its_escapes() -> None:
    assert check_path("/".join(["d" * 203] * 5))
    with pytest.raises(RefusedFile, match="with the escapes"):
        check_path("/".join(["?" * 42] * 20))
    with pytest.raises(RefusedFile, match="with the escapes"):
        check_path("?" * 43)


@pytest.mark.parametrize("path", ["v1/content/../x", "v1/content/nul", "v1/content/a.", f"v1/content/{'a' * 256}"])
def test_unsafe_content_is_refused_from_another_collection(path: str) -> None:
    with pytest.raises(RefusedFile):
        check_content_path(path)


@given(_PATHS, _PATHS)
def test_paths_that_do_not_collide_have_contents_that_do_not_collide(one: str, other: str) -> None:
    paths = PathSet()
    try:
        paths.add(_require_accepted(one))
        paths.add(_require_accepted(other))
    except RefusedFile:
        assume(False)
    first, second = (comparison_key(content_name(path)) for path in (one, other))
    assert first != second
    assert not first.startswith(f"{second}/")
    assert not second.startswith(f"{first}/")
