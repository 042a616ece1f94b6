"""A hook of MkDocs: the copy button of a console block copies the commands, without prompts and output."""

import re
from html import escape
from typing import Any

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*(?:\n>(?: .*)?$)*)", re.MULTILINE)
_HTML = '<div class="language-console highlight">'


def list_commands(block: str) -> str:
    """Return the commands of a console block, as they are pasted into a shell."""
    return "\n".join(re.sub(r"\n> ?", "\n", match["command"]) for match in _COMMAND.finditer(block))


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Give each console block the text that Material copies in place of the block."""
    blocks = [list_commands(match[1]) for match in _BLOCK.finditer(page.markdown)]
    parts = html.split(_HTML)
    if len(parts) != len(blocks) + 1:
        raise ValueError(f"{page.file.src_uri} has {len(blocks)} console blocks, and its HTML {len(parts) - 1}")
    opened = (f'{_HTML[:-1]} data-copy="{escape(block)}">{part}' for block, part in zip(blocks, parts[1:], strict=True))
    return parts[0] + "".join(opened)
