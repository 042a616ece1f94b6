"""Reference pages that are generated, or that must list everything that the code has."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from perdure.cli.remote.commands import LOCAL_ONLY
from perdure.http.shared import metrics

DOCS = Path(__file__).parents[1] / "docs"
REFERENCE = DOCS / "reference"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["settings", "errors"])
def test_a_generated_page_is_current(page: str) -> None:
    written = REFERENCE.joinpath(f"{page}.md").read_text("utf-8")
    assert written.rstrip() == load(f"{page}_reference").reference().rstrip(), "run: make docs-reference"


def test_every_remedy_belongs_to_an_error() -> None:
    generator = load("errors_reference")
    assert sorted(generator.REMEDIES) == sorted(generator.list_codes())


def test_every_setting_has_a_description() -> None:
    for line in REFERENCE.joinpath("settings.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert not (line.startswith("| `") and len(cells) == 5) or cells[4], f"{cells[0]} has no description"


def test_the_settings_of_each_section_are_linked_by_their_name() -> None:
    page = REFERENCE.joinpath("settings.md").read_text("utf-8")
    for section, key in load("settings_reference").list_keys():
        assert f"{{ #{section} }}" in page
        assert f"\n| `{key}` | " in page


def defined_metrics() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the type and the labels of every metric, by the name under which /metrics shows it."""
    found = {}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            registry = CollectorRegistry()
            registry.register(metric)
            (family,) = registry.collect()
            ending = "_total" if family.type == "counter" else ""
            found[family.name + ending] = family.type, metric._labelnames
    return found


def test_every_metric_is_documented_with_its_type_and_labels() -> None:
    page = REFERENCE.joinpath("metrics.md").read_text("utf-8")
    documented = {
        name: (kind, tuple(re.findall("`(\\w+)`", labels)))
        for name, kind, labels in re.findall(r"^\| `(perdure_\w+)` \| (\w+) \| ([^|]*)\|", page, re.MULTILINE)
    }
    assert documented == defined_metrics()


def test_the_glossary_explains_each_term_once() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", REFERENCE.joinpath("glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(terms) == len(set(terms)) >= 40
    assert terms == sorted(terms, key=str.lower)


def test_the_page_about_remote_registries_lists_what_works_only_on_the_server() -> None:
    rows = (DOCS / "how-to" / "remote-registry.md").read_text().split("| command | with `--server` |")[1].split("\n")
    listed = {name for row in rows if row.endswith("| no |") for name in re.findall("`([^`]+)`", row)}
    assert {command for command in LOCAL_ONLY if not {command, command.split(" ")[0]} & listed} == set()
