"""The replacement of URLs by a regular expression.

Python's matcher needs exponential time for some expressions, and nothing in it limits that. So it runs in another
process, with a time limit for each URL and one for all of them.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from perdure.errors import InvalidInput, OutOfRange, quote_text

_PROGRAM: Final = Path(__file__).with_name("pattern_program.py")
_LONGEST: Final = 1_000  # characters of an expression, and of its replacement
_SECONDS: Final = 0.25  # for one URL
_MOST_TIMEOUTS: Final = 10
_BATCH_SECONDS: Final = 60.0
_LIMITS: Final = "its process needs more memory than it may have, or cannot be started"


class PatternReplacement:
    """A regular expression, which must match the beginning of a URL, and the text that replaces what it matches."""

    def __init__(self, pattern: str, template: str) -> None:
        for part, text in (("from", pattern), ("to", template)):
            if len(text) > _LONGEST:
                raise OutOfRange("url", part, f"{part} is longer than {_LONGEST} characters")
        self._pattern = pattern
        self._template = template
        self._results: dict[str, str | None] = {}
        self._timeouts: set[str] = set()
        self._run([])  # raises an error if they are not valid

    def learn(self, urls: Iterable[str]) -> None:
        """Compute the replacements of these URLs, and forget those before."""
        texts = list(dict.fromkeys(urls))
        self._results.clear()
        for text, result in zip(texts, self._run(texts), strict=True):
            if result is False:
                self._timeouts.add(text)
            self._results[text] = result if isinstance(result, str) else None
        if len(self._timeouts) > _MOST_TIMEOUTS:
            raise self._too_slow()

    def replace(self, url: str) -> str | None:
        """Return the new URL; None if the expression does not match. Only URLs that were learnt can be replaced."""
        result = self._results[url]
        if result is None and url in self._timeouts:
            raise InvalidInput("url", "from", f"the expression takes longer than {_SECONDS} s on {quote_text(url)}")
        return None if result == url else result

    def _run(self, texts: list[str]) -> list[str | bool | None]:
        given = {
            "pattern": self._pattern,
            "template": self._template,
            "texts": texts,
            "seconds": _SECONDS,
            "most": _MOST_TIMEOUTS,
        }
        try:
            done = subprocess.run(  # noqa: S603  (a program of ours, without arguments from outside)
                [sys.executable, "-I", "-S", str(_PROGRAM)],
                input=json.dumps(given).encode(),
                capture_output=True,
                timeout=_BATCH_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._too_slow() from None
        if done.returncode != 0:
            raise InvalidInput("url", "from", f"the expression {quote_text(self._pattern)} cannot be used: {_LIMITS}")
        answer = json.loads(done.stdout)
        if "problem" in answer:
            raise InvalidInput("url", "from", f"the expression or its replacement is not valid: {answer['problem']}")
        results: list[str | bool | None] = answer["results"]
        if len(results) < len(texts):
            raise self._too_slow()
        return results

    def _too_slow(self) -> InvalidInput:
        reason = f"the expression {quote_text(self._pattern)} takes too long: avoid nested and adjacent repetitions"
        return InvalidInput("url", "from", reason)
