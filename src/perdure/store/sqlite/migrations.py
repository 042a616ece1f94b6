"""The schema, as a series of forward-only migrations; `user_version` is the number of those that were applied."""

from collections.abc import Callable, Sequence
from typing import Final

import apsw

from perdure.errors import StoreUnavailable
from perdure.store.schema_version import check_migrated, check_not_newer
from perdure.store.sqlite.digest_migration import add_digests

# Texts compare by their bytes, as keys must. A row's integer stays inside this file: everything else speaks of keys.
_FIRST: Final = """
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE identifiers (
    id      INTEGER PRIMARY KEY,
    key     TEXT NOT NULL UNIQUE,
    target  TEXT,
    state   TEXT NOT NULL CHECK (state IN ('reserved', 'active', 'withdrawn', 'merged')),
    version INTEGER NOT NULL CHECK (version >= 1),
    name    TEXT NOT NULL,
    scheme  TEXT NOT NULL CHECK (scheme IN ('handle', 'ibi', 'ppid')),
    created TEXT,
    subject TEXT,  -- NULL: the row is its own subject
    record  BLOB NOT NULL
) STRICT;

CREATE TABLE revisions (
    identifier INTEGER NOT NULL REFERENCES identifiers (id),
    version    INTEGER NOT NULL CHECK (version >= 1),
    at         TEXT NOT NULL,
    agent      TEXT NOT NULL,
    action     TEXT NOT NULL,
    note       TEXT,
    record     BLOB NOT NULL,
    PRIMARY KEY (identifier, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER revisions_stay BEFORE UPDATE ON revisions BEGIN
    SELECT RAISE (ABORT, 'revisions are never changed');
END;

CREATE TRIGGER revisions_are_kept BEFORE DELETE ON revisions BEGIN
    SELECT RAISE (ABORT, 'revisions are never deleted');
END;

CREATE TRIGGER identifiers_are_kept BEFORE DELETE ON identifiers BEGIN
    SELECT RAISE (ABORT, 'identifiers are never deleted');
END;

CREATE TABLE reverse (
    data       TEXT NOT NULL,
    type       TEXT NOT NULL,
    identifier INTEGER NOT NULL REFERENCES identifiers (id),
    PRIMARY KEY (data, type, identifier)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2"
);

CREATE TABLE prefixes (
    key            TEXT PRIMARY KEY,
    opaque         TEXT UNIQUE,
    name           TEXT NOT NULL,
    scheme         TEXT NOT NULL,
    minter         TEXT NOT NULL,
    case_sensitive INTEGER NOT NULL,
    parent         TEXT,
    policy         TEXT NOT NULL,
    pattern        TEXT,
    subsystem      TEXT,
    created        TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER prefix_identity_stays BEFORE UPDATE OF case_sensitive, scheme, opaque ON prefixes
WHEN NEW.case_sensitive IS NOT OLD.case_sensitive OR NEW.scheme IS NOT OLD.scheme OR NEW.opaque IS NOT OLD.opaque BEGIN
    SELECT RAISE (ABORT, 'what a prefix compares by is fixed for life');
END;

CREATE TABLE timelines (
    key  TEXT PRIMARY KEY,
    last TEXT NOT NULL  -- an exact fraction
) STRICT, WITHOUT ROWID;

CREATE TABLE person_inputs (
    uuid_raw TEXT PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE REFERENCES identifiers (key)
) STRICT, WITHOUT ROWID;

CREATE TABLE derivations (
    prid    TEXT NOT NULL REFERENCES identifiers (key),
    version INTEGER NOT NULL,
    poid    TEXT NOT NULL REFERENCES identifiers (key),
    PRIMARY KEY (prid, version, poid),
    CHECK (poid <> prid)
) STRICT, WITHOUT ROWID;
CREATE INDEX derivations_by_poid ON derivations (poid);

CREATE TABLE agents (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    identifier TEXT NOT NULL UNIQUE,
    created    TEXT NOT NULL,
    kind       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    id      TEXT PRIMARY KEY,
    agent   TEXT NOT NULL REFERENCES agents (id),
    digest  BLOB NOT NULL,
    created TEXT NOT NULL,
    expires TEXT,
    revoked TEXT,
    label   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
    agent    TEXT NOT NULL REFERENCES agents (id),
    scope    TEXT NOT NULL,
    action   TEXT NOT NULL,
    own      INTEGER NOT NULL,
    until    TEXT,
    given_by TEXT NOT NULL,
    given_at TEXT NOT NULL,
    PRIMARY KEY (agent, scope, action, own)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    id      INTEGER PRIMARY KEY,
    at      TEXT NOT NULL,
    agent   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail  TEXT NOT NULL
) STRICT;

CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN
    SELECT RAISE (ABORT, 'events are never changed');
END;

CREATE TRIGGER events_are_kept BEFORE DELETE ON events BEGIN
    SELECT RAISE (ABORT, 'events are never deleted');
END;
"""

# Secrets are encrypted with a key outside the database. Answers are stored for a limited time, so that a repeated
# request is run once. Neither table has a foreign key: copies insert them before the names.
_SECOND: Final = """
CREATE TABLE secrets (
    key         TEXT NOT NULL,
    value_index INTEGER NOT NULL,
    sealed      BLOB NOT NULL,
    PRIMARY KEY (key, value_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
    agent  TEXT NOT NULL,
    token  TEXT NOT NULL,
    digest BLOB NOT NULL,
    answer BLOB NOT NULL,
    at     TEXT NOT NULL,
    PRIMARY KEY (agent, token)
) STRICT;
CREATE INDEX answers_by_age ON answers (at);

ALTER TABLE prefixes ADD COLUMN pass_through INTEGER NOT NULL DEFAULT 0;
"""

# A covering index for the most frequent request to the resolver: one look-up in it finds the target.
_THIRD: Final = """
CREATE INDEX redirects ON identifiers (key, target, version) WHERE target IS NOT NULL AND instr(record, '"ttl":') = 0;
"""

# A redaction removes content from a revision; the revision itself stays, and records the redaction. And a client of the
# change feed needs an order in which nothing is inserted later: an import has old dates.
_FOURTH: Final = """
DROP TRIGGER revisions_stay;
CREATE TRIGGER revisions_stay BEFORE UPDATE ON revisions
WHEN (NEW.identifier, NEW.version, NEW.at, NEW.agent, NEW.action) IS NOT
     (OLD.identifier, OLD.version, OLD.at, OLD.agent, OLD.action) OR instr(NEW.record, '"redaction":') = 0 BEGIN
    SELECT RAISE (ABORT, 'revisions are never changed');
END;

CREATE TABLE changes (
    number     INTEGER PRIMARY KEY,  -- the microsecond since 1970 in which it came, or the next that is free
    identifier INTEGER NOT NULL REFERENCES identifiers (id),
    version    INTEGER NOT NULL
) STRICT;
INSERT INTO changes (number, identifier, version)
    SELECT row_number() OVER (ORDER BY at, identifier, version), identifier, version FROM revisions;

-- PPID, section 12.2, under its own names. One tree serves both columns that it wants indexed: there are two types, so
-- that a question about the time alone is two short ranges of it. That works because the view names the types.
CREATE INDEX persons_by_type ON identifiers (substr(key, 1, 4), created) WHERE scheme = 'ppid';
CREATE VIEW persons AS
    SELECT i.key AS ppid, substr(i.key, 1, 4) AS ppid_type, i.created AS created_at, p.uuid_raw AS uuid_raw
    FROM identifiers AS i JOIN person_inputs AS p ON p.name = i.key
    WHERE i.scheme = 'ppid' AND substr(i.key, 1, 4) IN ('POID', 'PRID');
"""

# A redirect no longer depends on the TTL of its value, so that the index has every target. Prefixes and agents get more
# settings. Resolutions are counted for each name, day and kind of client.
PLAIN_REDIRECT: Final = "target IS NOT NULL"
_SIXTH: Final = f"""
DROP INDEX redirects;
CREATE INDEX redirects ON identifiers (key, target, version) WHERE {PLAIN_REDIRECT};

ALTER TABLE prefixes ADD COLUMN ttl INTEGER;
ALTER TABLE prefixes ADD COLUMN joiners INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN retired TEXT;

CREATE TABLE resolutions (
    key    TEXT NOT NULL,
    day    TEXT NOT NULL,
    client TEXT NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (key, day, client)
) STRICT, WITHOUT ROWID;
"""

# Collections of items on disk. The index over roles lets an item have one original only, whatever program writes.
_SEVENTH: Final = """
CREATE TABLE collections (
    name    TEXT PRIMARY KEY,
    path    TEXT NOT NULL UNIQUE,
    url     TEXT UNIQUE,
    created TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE holdings (
    subject     TEXT NOT NULL,
    collection  TEXT NOT NULL REFERENCES collections (name),
    label       TEXT NOT NULL,
    role        TEXT NOT NULL CHECK (role IN ('original', 'copy')),
    role_since  TEXT NOT NULL,
    version     INTEGER NOT NULL CHECK (version >= 1),
    files       INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    digest      TEXT NOT NULL,
    main_file   TEXT,
    put_at      TEXT NOT NULL,
    source      TEXT NOT NULL,
    verified_at TEXT,
    outcome     TEXT,
    PRIMARY KEY (subject, collection)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_original ON holdings (subject) WHERE role = 'original';
CREATE INDEX holdings_by_collection ON holdings (collection, subject);
CREATE INDEX holdings_by_check ON holdings (collection, coalesce(verified_at, ''), subject);
"""

# The host and the address of an IBI subsystem may change. A label prefix stays with its subsystem for ever, and the
# times in which the subsystem issued labels under it are recorded.
_EIGHTH: Final = """
CREATE TABLE label_periods (
    label   TEXT NOT NULL,  -- the key of a label prefix
    started TEXT NOT NULL,
    ended   TEXT,
    kind    TEXT NOT NULL CHECK (kind IN ('name', 'address')),
    prefix  TEXT NOT NULL REFERENCES prefixes (key),
    PRIMARY KEY (label, started),
    CHECK (ended > started)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX open_label_periods ON label_periods (prefix, kind) WHERE ended IS NULL;
CREATE INDEX label_periods_by_prefix ON label_periods (prefix);
INSERT INTO label_periods (label, started, kind, prefix)
    SELECT key, created, 'name', key FROM prefixes WHERE subsystem IS NOT NULL;
INSERT INTO label_periods (label, started, kind, prefix)
    SELECT opaque, created, 'address', key FROM prefixes WHERE subsystem IS NOT NULL AND opaque IS NOT NULL;

CREATE TRIGGER label_periods_belong_to_one_prefix BEFORE INSERT ON label_periods
WHEN EXISTS (SELECT 1 FROM label_periods WHERE label = NEW.label AND prefix <> NEW.prefix) BEGIN
    SELECT RAISE (ABORT, 'a label prefix stays with one subsystem');
END;

CREATE TRIGGER label_periods_stay BEFORE UPDATE ON label_periods
WHEN (NEW.label, NEW.started, NEW.kind, NEW.prefix) IS NOT (OLD.label, OLD.started, OLD.kind, OLD.prefix)
     OR (OLD.ended IS NOT NULL AND NEW.ended IS NOT OLD.ended) BEGIN
    SELECT RAISE (ABORT, 'label periods are never changed');
END;

CREATE TRIGGER label_periods_are_kept BEFORE DELETE ON label_periods BEGIN
    SELECT RAISE (ABORT, 'label periods are never deleted');
END;

DROP TRIGGER prefix_identity_stays;
CREATE TRIGGER prefix_identity_stays BEFORE UPDATE OF case_sensitive, scheme ON prefixes
WHEN NEW.case_sensitive IS NOT OLD.case_sensitive OR NEW.scheme IS NOT OLD.scheme BEGIN
    SELECT RAISE (ABORT, 'what a prefix compares by is fixed for life');
END;
"""

# Other servers, to which names are sent on.
_NINTH: Final = """
CREATE TABLE peers (
    name       TEXT PRIMARY KEY,
    url        TEXT NOT NULL UNIQUE,
    prefixes   TEXT NOT NULL,
    server     TEXT,
    public_key TEXT,
    private    INTEGER NOT NULL,
    added      TEXT NOT NULL,
    announced  TEXT NOT NULL,
    checkpoint INTEGER NOT NULL,
    seen       TEXT
) STRICT, WITHOUT ROWID;
"""

# Pools of IBI subsystems. `members` is a JSON array of the keys of their prefixes.
_TENTH: Final = """
CREATE TABLE pools (
    name    TEXT PRIMARY KEY,
    policy  TEXT NOT NULL CHECK (policy IN ('round-robin', 'least-waiting', 'hash')),
    members TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

# The labels of held items that are not registered here: those of items that were copied from other servers.
_ELEVENTH: Final = """
ALTER TABLE holdings ADD COLUMN names TEXT NOT NULL DEFAULT '[]';

CREATE TABLE held_names (
    subject    TEXT NOT NULL,
    collection TEXT NOT NULL,
    name       TEXT NOT NULL,
    PRIMARY KEY (subject, collection, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX held_names_by_name ON held_names (name, subject);

UPDATE holdings SET names = json_array(subject)
    WHERE NOT EXISTS (SELECT 1 FROM identifiers WHERE identifiers.key = holdings.subject);
INSERT INTO held_names (subject, collection, name)
    SELECT subject, collection, subject FROM holdings WHERE names <> '[]';
"""

Step = str | Callable[[apsw.Connection], None]
MIGRATIONS: Final[tuple[Step, ...]] = (
    _FIRST,
    _SECOND,
    _THIRD,
    _FOURTH,
    add_digests,
    _SIXTH,
    _SEVENTH,
    _EIGHTH,
    _NINTH,
    _TENTH,
    _ELEVENTH,
)


def migrate(connection: apsw.Connection) -> None:
    """Apply all missing migrations, atomically."""
    if schema_version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = schema_version(connection)  # another process may have migrated it meanwhile
        check_not_newer(version, len(MIGRATIONS))
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreUnavailable("the file contains another database, and was not changed: name another file")
        run_steps(connection, MIGRATIONS, version)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def run_steps(connection: apsw.Connection, steps: Sequence[Step], applied: int) -> None:
    """Apply the steps after the first `applied`."""
    for number, step in enumerate(steps[applied:], applied + 1):
        if isinstance(step, str):
            connection.execute(step)
        else:
            step(connection)
        connection.execute(f"PRAGMA user_version = {number}")


def check_schema(connection: apsw.Connection) -> None:
    """Refuse a schema that is newer than this program, and one that is older."""
    version = schema_version(connection)
    check_not_newer(version, len(MIGRATIONS))
    check_migrated(version, len(MIGRATIONS))


def schema_version(connection: apsw.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").get)
