"""A program in another language, which knows nothing of this one, reads every version of every item."""

import json
import os
import subprocess
from pathlib import Path

from tests.collections.samples import ANNA, LABEL
from tests.system_packages import node_modules, require_package

from perdure.collections.source_files import list_directory
from perdure.collections.storage_root import StorageRoot

_LIBRARY = "@ocfl/ocfl-fs"
_SCRIPT = Path(__file__).with_name("read_root.js")
_OPAQUE = "8JMKD3MGP8W/34PGRBS"


def test_a_library_for_node_reads_all_versions(root: StorageRoot, tmp_path: Path) -> None:
    require_package("ocfl-js")
    files = {"a.txt": "one", "maps/What? é 1=1.txt": "map", "same.txt": "one"}
    source = tmp_path / "files"
    for path, content in files.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(content)
    for label in (LABEL, _OPAQUE):
        root.put_version(label, list_directory(source), agent=ANNA)
    (source / "a.txt").write_text("two")
    root.put_version(LABEL, list_directory(source), agent=ANNA)
    environment = {**os.environ, "NODE_PATH": str(node_modules(_LIBRARY))}
    done = subprocess.run(["node", _SCRIPT, root.path], capture_output=True, env=environment, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {
        "ocfl": "1.1",
        "items": {LABEL: {"v1": files, "v2": {**files, "a.txt": "two"}}, _OPAQUE: {"v1": files}},
    }
