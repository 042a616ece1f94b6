"""The page to try the API, in a real browser."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page
from tests.http.live_server import LiveServer, run_server

DOCS = "/api/v1/docs"
BLOCKS = """blocks => blocks.map(block => [
    block.querySelector(".opblock-summary-method").innerText,
    block.querySelector("[data-path]").dataset.path,
    block.querySelector(".authorization__btn")?.getAttribute("aria-label") ?? null,
])"""
PREFILLED = '[data-param-name="Idempotency-Key"] input'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("registry")) as server:  # before the browser, whose library runs a loop
        yield server


@pytest.fixture
def page(server: LiveServer, browser: Browser) -> Iterator[Page]:
    with browser.new_page() as page:
        yield page


def expected_padlock(operation: dict[str, Any]) -> str | None:
    security = operation["security"]
    if security == [{}]:
        return None
    return "authorization button unlocked" if {} in security else "authorization button locked"


def test_each_padlock_says_whether_credentials_are_required(server: LiveServer, page: Page) -> None:
    document = httpx.get(f"{server.url}/api/v1/openapi.json").json()
    page.goto(f"{server.url}{DOCS}")
    page.wait_for_selector(".opblock")
    expected = {
        (method.upper(), path): expected_padlock(operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }
    blocks = page.eval_on_selector_all(".opblock", BLOCKS)
    shown = {(method, path): padlock for method, path, padlock in blocks}
    assert shown == expected


def test_a_key_can_be_entered_and_a_request_to_mint_has_no_key_of_its_own(server: LiveServer, page: Page) -> None:
    """Every click mints another name."""
    page.goto(f"{server.url}{DOCS}#/identifiers/mint")
    page.click(".btn.authorize")
    page.fill("#auth-bearer-value", server.key)
    page.click("form:has(#auth-bearer-value) button[type=submit]")
    page.click(".btn-done")
    page.click(".try-out__btn")
    assert page.input_value(PREFILLED) == ""
    prefixes = httpx.get(f"{server.url}/api/v1/prefixes").json()["prefixes"]
    prefix = next(one["prefix"] for one in prefixes if one["minter"] == "pilin")
    page.fill("textarea.body-param__text", f'{{"prefix": "{prefix}", "target": "https://example.org/"}}')
    names = set()
    for _ in range(2):
        with page.expect_response(lambda answer: answer.request.method == "POST") as answered:
            page.click(".btn.execute")
        assert answered.value.status == 201
        names.add(answered.value.json()["identifiers"][0]["name"])
    assert len(names) == 2
