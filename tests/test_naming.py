"""Names in the source, the tests and the benchmarks: the rules of CONTRIBUTING.md that a program can check."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "perdure"
FOLDERS: Final = (SOURCE, ROOT / "tests", ROOT / "bench")

RETIRED_WORDS: Final = frozenset(
    [
        "place",
        "places",
        "door",
        "doors",
        "lane",
        "told",
        "said",
        "asked",
        "wanted",
        "kept",
        "turns",
        "exchange",
        "finding",
        "express",
        "pulse",
        "passenger",
        "shelf",
    ]
)
IRREGULAR_PARTICIPLES: Final = frozenset(
    [
        "bound",
        "brought",
        "built",
        "chosen",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "held",
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "meant",
        "said",
        "seen",
        "sent",
        "shown",
        "spent",
        "taken",
        "thought",
        "told",
        "written",
    ]
)
PRONOUNS: Final = frozenset(
    [
        "it",
        "they",
        "who",
        "whom",
        "whoever",
        "what",
        "which",
        "nobody",
        "somebody",
        "anybody",
        "everybody",
        "one",
        "each",
        "other",
        "others",
        "same",
    ]
)
ADVERBS: Final = frozenset(
    [
        "again",
        "alone",
        "along",
        "already",
        "anew",
        "apart",
        "aside",
        "away",
        "back",
        "besides",
        "here",
        "now",
        "once",
        "only",
        "still",
        "then",
        "there",
        "together",
    ]
)
NOT_PARTICIPLES: Final = frozenset(["bed", "embed", "exceed", "feed", "need", "red", "seed", "shared", "shed", "speed"])
# Nouns of the field that end in -ing: activities, and the holdings of a library.
ACTIVITIES: Final = frozenset(
    [
        "deleting",
        "editing",
        "holding",
        "homing",
        "importing",
        "linking",
        "listing",
        "logging",
        "merging",
        "minting",
        "observing",
        "reading",
        "reconnecting",
        "reconstructing",
        "redacting",
        "restricting",
        "revising",
        "serving",
        "signposting",
        "splitting",
        "string",
        "timing",
        "writing",
    ]
)
# Base names that occur more than once, each for one thing at several layers, with the thing.
SHARED_BASE_NAMES: Final = {
    "__init__": "a package",
    "agents": "agents: use cases, endpoints, RDF, and requests of the command",
    "app": "the application: of the server, and of the command",
    "authority_metadata": "authority metadata: its values, and its RDF",
    "backup": "the backup of a store, one for each engine",
    "bulk_changes": "bulk changes: use cases, commands and endpoints",
    "bulk_observations": "the creation of many observations: use case and endpoint",
    "change_feed": "the change feed: use case and endpoint",
    "connection": "a connection to a database, one for each engine",
    "digest_migration": "the migration that adds digests, one for each engine",
    "group_commit": "group commit, one for each engine",
    "identifiers": "identifiers: endpoints, and the requests of the command to them",
    "listing": "lists of identifiers: of a registry, for Handle clients, and the command",
    "location": "the location of a store: the interface, and one for each engine",
    "migrations": "the schema migrations, one list for each engine",
    "minting": "minting: use cases and endpoint",
    "move": "the move of a registry to another store: use case and command",
    "namespaces": "namespaces of RDF: our own, and those of other vocabularies",
    "observing": "the creation of an observation: use case and endpoint",
    "person": "a person: its type, its commands, and its RDF",
    "person_curation": "the curation of persons: commands and endpoints",
    "persons": "persons: endpoints, and the requests of the command to them",
    "peers": "other servers: use cases, endpoints, and their use from another machine",
    "pools": "pools: use cases, endpoints and schemas",
    "prefixes": "prefixes: use cases and endpoints",
    "query": "queries: use cases and commands",
    "reader": "the reader of a store, one for each engine",
    "request_context": "the context of a request: of each API",
    "restore": "the restore of a backup: of a registry, and of an SQLite file",
    "responses": "responses: their headers, and the types of their bodies",
    "schema_check": "the check of a database schema: the comparison, and one for each engine",
    "statistics": "statistics of resolutions: use cases and endpoints",
    "store": "a store, one for each engine",
    "transaction": "a transaction, one for each engine",
    "vocabulary": "the vocabulary: its terms, and its URLs",
}


def split_words(name: str) -> list[str]:
    """Return the words of a name in snake_case or CamelCase, in lower case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip("_"))
    return [word.lower() for word in spaced.split("_") if word]


def is_participle(word: str) -> bool:
    if word in IRREGULAR_PARTICIPLES:
        return True
    if word.endswith("ing"):
        return len(word) > 5 and word not in ACTIVITIES
    return word.endswith("ed") and len(word) > 3 and word not in NOT_PARTICIPLES


def explain_bad_name(name: str) -> str | None:
    """Return the rule that a name breaks."""
    if name.startswith("__"):
        return None  # the language's own
    words = split_words(name)
    if retired := RETIRED_WORDS.intersection(words):
        return f"the word {', '.join(sorted(retired))} is retired"
    if len(words) == 1:
        (word,) = words
        if is_participle(word):
            return "a participle is the whole name"
        if word in PRONOUNS or word in ADVERBS:
            return "a pronoun or an adverb is the whole name"
    return None


def list_definitions() -> Iterator[tuple[str, str]]:
    """Yield every module, class and function of all folders, with its location."""
    for path in sorted(path for folder in FOLDERS for path in folder.rglob("*.py")):
        location = str(path.relative_to(ROOT))
        yield location, path.parent.name if path.stem == "__init__" else path.stem
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{location}:{node.lineno}", node.name


def test_names_follow_the_rules() -> None:
    problems = [
        f"{location} {name}: {problem}"
        for location, name in list_definitions()
        if (problem := explain_bad_name(name)) is not None
    ]
    assert not problems, "\n".join(problems)


def test_a_base_name_means_one_thing() -> None:
    paths = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        paths[path.stem].append(str(path.relative_to(SOURCE)))
    repeated = {name: files for name, files in paths.items() if len(files) > 1 and name not in SHARED_BASE_NAMES}
    assert not repeated, repeated
    unused = [name for name in SHARED_BASE_NAMES if len(paths[name]) < 2]
    assert not unused, unused


def test_the_rules_reject_bad_names_and_accept_good_ones() -> None:
    for bad in (
        "told",
        "_said",
        "Kept",
        "minted",
        "aside",
        "whoever",
        "_shown",
        "find_place",
        "DoorKeeper",
        "gathering",
    ):
        assert explain_bad_name(bad) is not None, bad
    for good in ("find_record", "minting", "is_allowed", "Timeout", "feed", "parse", "SnapshotLookups", "read_string"):
        assert explain_bad_name(good) is None, good
