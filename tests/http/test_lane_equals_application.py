"""The express lane and the application give the same answer: whoever compares them cannot tell which one it was."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from tests.http.compared import EVERY_KIND, HEADERS, MIXED, PATHS, Compared, comparing


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compared]:
    with comparing(tmp_path_factory.mktemp("compared") / "registry") as one:
        yield one


@given(path=PATHS, headers=HEADERS)
def test_the_same_request_has_the_same_answer(compared: Compared, path: str, headers: list[str]) -> None:
    compared.assert_alike(path, *headers)


def test_every_kind_of_record_has_the_same_answer(compared: Compared) -> None:
    for path in EVERY_KIND:
        compared.assert_alike(path)


def test_requests_in_one_go_have_the_same_answers_in_their_order(compared: Compared) -> None:
    compared.assert_alike_in_one_go(MIXED)


def test_the_lane_answers_what_is_usual(compared: Compared) -> None:
    """Otherwise all of the above would compare the application with itself."""
    assert compared.answered_by_lane == compared.usual
