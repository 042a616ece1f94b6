"""The fast path and the application send the same response to the same request."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from tests.http.fast_path_requests import EVERY_KIND, HEADERS, MIXED, PATHS, PathComparison, compare_paths


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PathComparison]:
    with compare_paths(tmp_path_factory.mktemp("compared") / "registry") as comparison:
        yield comparison


@given(path=PATHS, headers=HEADERS)
def test_the_same_request_has_the_same_response(comparison: PathComparison, path: str, headers: list[str]) -> None:
    comparison.assert_alike(path, *headers)


def test_every_kind_of_record_has_the_same_response(comparison: PathComparison) -> None:
    for path in EVERY_KIND:
        comparison.assert_alike(path)


def test_pipelined_requests_have_the_same_responses_in_order(comparison: PathComparison) -> None:
    comparison.assert_alike_in_one_go(MIXED)


def test_the_fast_path_answers_the_usual_requests(comparison: PathComparison) -> None:
    """Otherwise the tests above would compare the application with itself."""
    assert comparison.fast_path_answers == comparison.usual
