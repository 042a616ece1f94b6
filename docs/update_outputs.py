"""Runs the console blocks of documentation pages, and writes the printed output anew where it has changed.

python docs/update_outputs.py [PAGE …]      all pages, without a PAGE

Look at the result with `git diff` before you commit it: an error message is output, too.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.console_pages import PAGES, name_of, read_steps, update_page  # noqa: E402


def main(names: list[str]) -> None:
    for page in [Path(name).resolve() for name in names] or PAGES:
        if read_steps(page):
            changed = update_page(page)
            print(f"{name_of(page)}: {len(changed)} changed")
            for command in changed:
                print(f"    $ {command.splitlines()[0]}")


if __name__ == "__main__":
    main(sys.argv[1:])
