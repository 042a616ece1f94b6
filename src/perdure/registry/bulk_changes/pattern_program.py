"""The program that matches a regular expression: a process of its own, because Python's matcher can run for ever.

It reads one JSON object from standard input, and writes one. It imports nothing of Perdure, so it starts at once.
"""

import json
import re
import resource
import signal
import sys

MEMORY = 1 << 29


class TimeIsUp(Exception):
    """A match took too long. The matcher lets signals interrupt it."""


def interrupt(number: int, frame: object) -> None:
    """Stop the match that is running."""
    raise TimeIsUp


def main() -> None:
    """Match every text; write the result of each: a text, null without a match, or false if it took too long."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    given = json.load(sys.stdin)
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, given["seconds"])
    try:
        pattern = re.compile(given["pattern"])
        match = pattern.match("")
        if match is None:
            pattern.sub(given["template"], "")
        else:
            match.expand(given["template"])
    except TimeIsUp:
        json.dump({"problem": "it takes too long to compile"}, sys.stdout)
        return
    except (re.error, IndexError, OverflowError, RecursionError, MemoryError) as problem:
        json.dump({"problem": str(problem) or type(problem).__name__}, sys.stdout)
        return
    results: list[str | bool | None] = []
    for text in given["texts"]:
        signal.setitimer(signal.ITIMER_REAL, given["seconds"])
        try:
            found = pattern.match(text)
            results.append(None if found is None else found.expand(given["template"]) + text[found.end() :])
        except (TimeIsUp, MemoryError, RecursionError):
            results.append(False)
            if results.count(False) > given["most"]:
                break
    signal.setitimer(signal.ITIMER_REAL, 0)
    json.dump({"results": results}, sys.stdout)


if __name__ == "__main__":
    main()
