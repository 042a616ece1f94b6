"""Purity of the names library: no clock, no I/O, and no other package except in `external`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import perdure.names

ROOT = Path(perdure.names.__file__).parent
PURE = {
    "collections", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "ipaddress",
    "itertools", "math", "perdure", "re", "string", "types", "typing", "urllib.parse", "uuid",
}  # fmt: skip
ALLOWED = {"external.py": {"stdnum.iso7064"}}
CLOCKS = {"now", "today", "utcnow", "uuid1", "uuid4", "time", "open", "print", "input"}
SOURCES = sorted(ROOT.rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_pure_modules_are_imported(source: Path) -> None:
    tree = ast.parse(source.read_text("utf-8"))
    allowed = PURE | ALLOWED.get(source.name, set())
    used = {name if name in allowed else name.partition(".")[0] for name in imports(tree)}
    assert used <= allowed


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_clock_is_read_and_nothing_is_opened(source: Path) -> None:
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(ast.parse(source.read_text("utf-8")))
        if isinstance(node, ast.Call)
    }
    assert not called & CLOCKS


def test_the_purity_test_sees_the_sources() -> None:
    assert {"handle.py", "pilin.py", "opaque.py", "ppid.py", "recognise.py"} <= {source.name for source in SOURCES}
