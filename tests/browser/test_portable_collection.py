"""A collection on a medium, in a browser without a server and without a network."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page
from tests.http.sample_registry import open_for_writing

from perdure.collections.collection_admin import create_collection
from perdure.collections.deposit import put_item, reserve_name
from perdure.collections.portable_export import export_portable
from perdure.collections.source_files import list_directory
from perdure.folder.registry_folder import make_registry
from perdure.registry import add_subsystem

PREFIX = "sid.inpe.br/mtc-m18"


class Medium(NamedTuple):
    """The directory of a medium, and the two labels of an item on it."""

    directory: Path
    label: str
    opaque: str

    @property
    def index(self) -> str:
        return (self.directory / "index.html").as_uri()


@pytest.fixture(scope="module")
def medium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Medium]:
    folder = tmp_path_factory.mktemp("medium")
    with ThreadPoolExecutor(1) as thread:  # the browser has the event loop of this one
        yield thread.submit(lambda: asyncio.run(_build(folder))).result()


async def _build(folder: Path) -> Medium:
    await make_registry(folder / "registry", name="Tests")
    async with open_for_writing(folder / "registry") as (registry, admin):
        await add_subsystem(registry, admin, "mtc-m18.sid.inpe.br", "150.163.34.243", granularity=1)
        await create_collection(registry, admin, "main", folder / "main", "https://id.example.org/items/main")

        async def put(title: str, files: dict[str, str]) -> tuple[str, str]:
            source = folder / title
            for path, content in files.items():
                (source / path).parent.mkdir(parents=True, exist_ok=True)
                (source / path).write_text(content)
            minted = await reserve_name(registry, admin, "main", PREFIX, title=title)
            await put_item(registry, admin, "main", minted.name, list_directory(source))
            assert minted.alias is not None
            return minted.name, minted.alias

        label, opaque = await put("On maps", {"maps/a b.html": "<title>The map</title>"})
        await put(
            "An essay", {"essay.html": f'<title>E</title><a href="./upn:4CR88AP:{opaque}/maps/a%20b.html">map</a>'}
        )
        await export_portable(registry, "main", folder / "stick")
    return Medium(folder / "stick", label, opaque)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(offline=True) as context:
        yield context.new_page()


def test_a_link_between_items_is_followed(page: Page, medium: Medium) -> None:
    page.goto(medium.index)
    page.get_by_role("link", name="An essay").click()
    page.get_by_role("link", name="essay.html").click()
    page.get_by_role("link", name="map").click()
    assert page.title() == "The map"


def test_the_box_opens_links_of_every_form(page: Page, medium: Medium) -> None:
    for text in (
        f"upn:4CR88AP-:{medium.opaque}/maps/a%20b.html",
        f"http://urlib.net/rep/{medium.label}/maps/a%20b.html",
        f"https://id.example.org/{medium.opaque.lower()}/maps/a b.html",
        f"http://mtc-m16c.sid.inpe.br/col/{medium.label}/doc/maps/a%20b.html?languagebutton=en",
    ):
        page.goto(medium.index)
        page.get_by_label("Link or label").fill(text)
        page.get_by_role("button", name="Open").click()
        page.wait_for_url("**/a%20b.html")
        assert page.title() == "The map", text
    page.goto(f"{medium.index}#upn:4CR88AP:{medium.label}")
    page.wait_for_url("**/names/**")
    assert page.get_by_role("heading").text_content() == "On maps"


def test_an_unknown_item_is_reported(page: Page, medium: Medium) -> None:
    page.goto(medium.index)
    page.get_by_label("Link or label").fill("upn:4CR88AP:__proto__/toString")
    page.get_by_role("button", name="Open").click()
    assert page.get_by_role("status").text_content() == "This item is not on this medium."


def test_a_link_leads_to_nothing_outside_its_item(page: Page, medium: Medium) -> None:
    for path in ("../../index.html", "maps/%2e%2e/%2E%2e/x", "./x"):
        page.goto("about:blank")
        page.goto(f"{medium.index}#upn:4CR88AP:{medium.opaque}/{path}")
        page.get_by_text("This item is not on this medium.").wait_for()
    page.goto("about:blank")
    page.goto(f"{medium.index}#%ff")
    page.get_by_text("This item is not on this medium.").wait_for()


def test_another_label_leads_to_the_same_page(page: Page, medium: Medium) -> None:
    directory = medium.opaque.lower()
    page.goto((medium.directory / "names" / directory / "index.html").as_uri())
    page.wait_for_url("**/names/sid.inpe.br/**")
    assert page.get_by_role("heading").text_content() == "On maps"
