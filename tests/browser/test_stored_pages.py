"""A page that someone has stored in an item, in a real browser: it cannot act in the name of this server or its reader."""

import asyncio
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext
from tests.http.items.item_server import COLLECTION, ItemServer, item_server
from tests.http.sample_registry import open_for_writing

from perdure.collections.deposit import put_item
from perdure.collections.source_files import StreamedFile

HARMLESS: Final = "harmless"
# It shows the cookies that it can read, and writes in the name of the reader, in every way that pages have.
SCRIPT: Final = """
try { document.title = "ran " + document.cookie } catch (problem) { document.title = "ran " + problem.name }
fetch("/api/v1/identifiers", {method: "POST", body: "{}", credentials: "include"});
navigator.sendBeacon("/api/v1/uploads", "x");
"""
PAGE: Final = f"""<!doctype html><title>{HARMLESS}</title>
<script>{SCRIPT}</script>
<img src="missing.png" onerror="document.title = 'ran'">
<meta http-equiv="refresh" content="0; url=javascript:document.title='ran'">
<form id="f" action="/api/v1/items/{COLLECTION}" method="post" enctype="multipart/form-data"><button id="b">go</button></form>
<iframe src="/metrics"></iframe>
<p id="text">text</p>"""
DRAWING: Final = f"""<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">
<title>{HARMLESS}</title><script>document.documentElement.setAttribute("data-ran", "1"); fetch("/api/v1/uploads", {{method: "POST"}})</script>
</svg>"""
# It makes a page with a script of a document without one.
STYLES: Final = f"""<stylesheet version="1.0" xmlns="http://www.w3.org/1999/XSL/Transform"><template match="/">
<html xmlns="http://www.w3.org/1999/xhtml"><title>ran</title><script>{SCRIPT.replace("&", "&amp;")}</script></html>
</template></stylesheet>"""
FILES: Final = {
    "page.html": PAGE,
    "drawing.svg": DRAWING,
    "page.xhtml": "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>harmless</title><script>document.title = 'ran'</script></head><body/></html>",
    "page.xml": f"<x><title>{HARMLESS}</title><script xmlns='http://www.w3.org/1999/xhtml'>{SCRIPT.replace('&', '&amp;')}</script></x>",
    "styled.xml": f"<?xml-stylesheet type='text/xsl' href='data:text/xml,{quote(STYLES)}'?><x/>",
    "page.txt": PAGE,
}


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ItemServer]:
    folder = tmp_path_factory.mktemp("items") / "registry"
    with ThreadPoolExecutor(1) as thread:  # the browser may run its event loop in this one
        serving = item_server(folder)
        served = thread.submit(serving.__enter__).result()
        try:
            thread.submit(lambda: asyncio.run(_store_pages(served))).result()
            yield served
        finally:
            thread.submit(serving.__exit__, None, None, None).result()


async def _store_pages(served: ItemServer) -> None:
    async with open_for_writing(served.server.folder) as (registry, admin):
        sources = [StreamedFile(f"hostile/{path}", io.BytesIO(text.encode())) for path, text in FILES.items()]
        await put_item(registry, admin, COLLECTION, served.label, sources, extends=True)


@pytest.fixture
def context(browser: Browser, items: ItemServer) -> Iterator[BrowserContext]:
    """Open a window whose reader has a cookie of the server, as after a login."""
    context = browser.new_context()
    context.add_cookies([{"name": "login", "value": "secret", "url": items.server.url}])
    yield context
    context.close()


@pytest.mark.parametrize("path", FILES)
def test_a_stored_page_runs_no_script_and_sends_nothing(context: BrowserContext, items: ItemServer, path: str) -> None:
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(f"{request.method} {request.url}"))
    page.goto(items.server.url + items.path_of(f"hostile/{path}"))
    page.wait_for_timeout(300)
    assert page.title() in (HARMLESS, "")
    assert page.locator("[data-ran]").count() == 0
    assert [one for one in requests if not one.startswith("GET")] == []
    assert [one for one in requests if "/api/" in one or "/metrics" in one] == []


def test_a_form_in_a_stored_page_is_not_sent(context: BrowserContext, items: ItemServer) -> None:
    page = context.new_page()
    requests: list[str] = []
    page.goto(items.server.url + items.path_of("hostile/page.html"))
    page.on("request", lambda request: requests.append(request.method))
    page.locator("#b").click(no_wait_after=True)
    page.wait_for_timeout(300)
    assert "POST" not in requests


def test_a_stored_page_has_an_origin_of_its_own(context: BrowserContext, items: ItemServer) -> None:
    """A page of this server cannot reach into it, as it could into a page of its own origin."""
    page = context.new_page()
    page.goto(f"{items.server.url}/healthz")
    stored = items.server.url + items.path_of("hostile/page.html")
    reached = page.evaluate(
        """async (url) => {
            const frame = window.open(url);
            await new Promise((done) => setTimeout(done, 700));
            try { return frame.document.title } catch (problem) { return problem.name }
        }""",
        stored,
    )
    assert reached in ("SecurityError", "TypeError")


def test_the_same_page_of_another_server_runs_its_script(browser: Browser) -> None:
    """This shows that the tests above would see a script that runs."""

    class Plain(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE.encode())

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Plain) as site:
        thread = Thread(target=site.serve_forever)
        thread.start()
        try:
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{site.server_port}/")
            page.wait_for_timeout(300)
            assert page.title().startswith("ran")
            page.close()
        finally:
            site.shutdown()
            thread.join()
