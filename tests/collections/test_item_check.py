"""The check of items: every kind of damage is found, and told from a failed read."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.collections.samples import ANNA, LABEL
from tests.crash.mount_namespace import in_own_mounts

from perdure.collections.item_report import CHANGED, FOREIGN, MISPLACED, MISSING, UNREADABLE
from perdure.collections.read_rate import ReadRate
from perdure.collections.source_files import list_directory
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Step
from perdure.errors import NoSuchItem


@pytest.fixture
def item(root: StorageRoot, source: Path) -> Path:
    root.put_version(LABEL, list_directory(source), agent=ANNA)
    (source / "copy.tif").write_bytes(b"new")
    root.put_version(LABEL, list_directory(source), agent=ANNA)
    return root.path / LABEL


def _problems(root: StorageRoot) -> list[tuple[str, str]]:
    return [(problem.kind, problem.path) for problem in root.verify_item(LABEL).problems]


def test_a_sound_item_has_no_problems(root: StorageRoot, item: Path) -> None:
    report = root.verify_item(LABEL)
    assert report.is_sound
    assert (report.files, report.bytes) == (3, 400_006)
    assert [one.label for one in root.verify()] == [LABEL]


def test_a_changed_byte_is_found(root: StorageRoot, item: Path) -> None:
    file = item / "v1/content/thesis.pdf"
    file.chmod(0o644)
    with file.open("r+b") as stream:
        stream.seek(300_000)
        stream.write(b"!")
    assert _problems(root) == [(CHANGED, "v1/content/thesis.pdf")]


def test_a_missing_file_and_a_foreign_one_are_found(root: StorageRoot, item: Path) -> None:
    (item / "v1/content/thesis.pdf").unlink()
    (item / "v2/content/note").write_text("foreign")
    (item / "v1/content/empty").mkdir()
    (item / "thumbs.db").write_text("foreign")
    (item / "v1/content/link").symlink_to("/etc/passwd")
    assert set(_problems(root)) == {
        (MISSING, "v1/content/thesis.pdf"),
        (FOREIGN, "v2/content/note"),
        (FOREIGN, "v1/content/empty"),
        (FOREIGN, "thumbs.db"),
        (FOREIGN, "v1/content/link"),
    }


def test_a_misplaced_file_is_not_called_missing(root: StorageRoot, item: Path) -> None:
    (item / "v1/content/thesis.pdf").rename(item / "v2/content/moved.pdf")
    assert _problems(root) == [(MISPLACED, "v2/content/moved.pdf")]


@pytest.mark.parametrize(
    "name", ["inventory.json", "v1/inventory.json", "v2/inventory.json.sha512", "0=ocfl_object_1.1"]
)
def test_a_changed_description_is_found(root: StorageRoot, item: Path, name: str) -> None:
    (item / name).write_bytes((item / name).read_bytes().replace(b"1", b"2", 1))
    assert (CHANGED, name.removesuffix(".sha512")) in _problems(root)


@pytest.mark.parametrize("name", ["inventory.json", "v1/inventory.json.sha512", "0=ocfl_object_1.1"])
def test_a_missing_description_is_found(root: StorageRoot, item: Path, name: str) -> None:
    (item / name).unlink()
    assert (MISSING, name) in _problems(root)


def test_an_inventory_that_another_program_has_changed_with_its_digest_is_found(root: StorageRoot, item: Path) -> None:
    from perdure.collections.inventory import encode_sidecar

    inventory = json.loads((item / "inventory.json").read_text())
    inventory["versions"]["v2"]["message"] = "another"
    content = json.dumps(inventory).encode()
    (item / "inventory.json").write_bytes(content)
    (item / "inventory.json.sha512").write_bytes(encode_sidecar(content))
    assert _problems(root) == [(CHANGED, "inventory.json")]


def test_a_read_that_fails_is_no_change(root: StorageRoot, item: Path) -> None:
    """Reading the memory of a process from its start fails with an input/output error, as on a bad disk."""
    program = f"""
from perdure.collections.storage_root import StorageRoot
report = StorageRoot({str(root.path)!r}).verify_item({LABEL!r})
print(report.is_unreadable, *(f"{{problem.kind}} {{problem.path}} {{problem.detail}}" for problem in report.problems), sep="|")
"""
    mount = 'mount --bind /proc/$$/mem "$0/v1/content/thesis.pdf"'
    command = in_own_mounts(mount, item, [sys.executable, "-c", program])
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout.strip() == f"True|{UNREADABLE} v1/content/thesis.pdf Input/output error", found.stderr


def test_the_directories_between_items_are_checked(root: StorageRoot, item: Path) -> None:
    above = root.path / "sid.inpe.br"
    (above / "note.txt").write_text("foreign")
    (above / "empty").mkdir()
    shutil.copytree(item, above / "mtc-m19" / "2009" / "02.16.17.46")
    shutil.copytree(item, above / "somewhere")
    found = {(report.path, report.problems[0].kind) for report in root.verify() if not report.is_sound}
    assert found == {
        ("sid.inpe.br/note.txt", FOREIGN),
        ("sid.inpe.br/empty", FOREIGN),
        ("sid.inpe.br/mtc-m19/2009/02.16.17.46", MISPLACED),
        ("sid.inpe.br/somewhere", MISPLACED),
    }


def test_a_check_reports_what_it_is_doing_now(root: StorageRoot, item: Path) -> None:
    steps: list[Step] = []
    root.verify_item(LABEL, report=steps.append)
    assert steps[-1] == Step("check", steps[-1].path, 3, 400_006)
    assert {step.path for step in steps} == {"", "v1/content/copy.tif", "v1/content/thesis.pdf", "v2/content/copy.tif"}


def test_a_rate_limits_the_mean_speed() -> None:
    slept: list[float] = []
    rate = ReadRate(1000, slept.append)
    for _ in range(10):
        rate.spend(100)
    assert 0.9 < max(slept) <= 1.0
    ReadRate(None, slept.append).spend(10**12)
    assert max(slept) <= 1.0


def test_an_item_that_is_not_there_has_its_own_error(root: StorageRoot) -> None:
    with pytest.raises(NoSuchItem):
        root.verify_item(LABEL)
    assert os.listdir(root.path / "extensions/perdure-collection/staging") == []
