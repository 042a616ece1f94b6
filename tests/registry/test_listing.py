"""Lists of identifiers, page by page, for agents with permission."""

import pytest
from tests.registry_fixture import Office

from perdure.errors import NoSuchPrefix, NotAuthorised
from perdure.registry import list_identifiers, mint_once


@pytest.fixture
def shop(office: Office) -> Office:
    for prefix in ("12345", "12345.1"):
        office.prefix(prefix, "chosen")
        office.do(mint_once, prefix, suffixes=[f"n{number}" for number in range(5)])
    return office


def test_pages_follow_one_another_until_the_last(shop: Office) -> None:
    seen, after = [], ""
    for _ in range(3):
        page = shop.do(list_identifiers, "12345", after=after, limit=2)
        seen += [row.name for row in page.identifiers]
        after = page.next or ""
    assert seen == [f"12345/n{number}" for number in range(5)]
    assert after == ""


def test_the_last_page_has_no_next_page(shop: Office) -> None:
    assert shop.do(list_identifiers, "12345", limit=5).next is None


def test_without_a_prefix_everything_is_listed(shop: Office) -> None:
    listed = {row.name for row in shop.do(list_identifiers, limit=1000).identifiers}
    assert {"12345/n0", "12345.1/n4"} <= listed


def test_an_unknown_prefix_is_an_error(shop: Office) -> None:
    with pytest.raises(NoSuchPrefix):
        shop.do(list_identifiers, "99999")


@pytest.mark.parametrize(("action", "prefix", "is_allowed"), [
    ("edit", "12345", True),
    ("admin", "12345", True),
    ("mint", "12345", False),
    ("edit", "12345.1", False),
    ("edit", None, False),
])  # fmt: skip
def test_the_list_needs_permission_to_edit_or_administer(
    shop: Office, action: str, prefix: str | None, is_allowed: bool
) -> None:
    agent = shop.hire("maria", "12345", action)
    if is_allowed:
        assert len(shop.by(agent, list_identifiers, prefix).identifiers) == 5
    else:
        with pytest.raises(NotAuthorised):
            shop.by(agent, list_identifiers, prefix)
