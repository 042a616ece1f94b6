"""The schema, as a series of forward-only migrations; the table `migrations` lists those that were applied.

A migration has the same number here as on the embedded store. The rows of names are in hash partitions by key, so that
the trees of hundreds of millions of names stay small. There is no central counter, so that an engine that distributes
tables over many machines can distribute these. Texts compare by their bytes (COLLATE "C"), as keys must.
"""

import time
from collections.abc import Callable
from typing import Final

from psycopg import errors as pg
from psycopg import sql

from perdure.errors import StoreUnavailable
from perdure.store.postgres.connection import Connection
from perdure.store.postgres.digest_migration import add_digests
from perdure.store.schema_version import check_migrated, check_not_newer

_FIRST: Final = """
CREATE TABLE facts (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

-- Rows that are there to be locked, or to be seen at the beginning of every write.
CREATE TABLE guards (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO guards (name, value) VALUES ('settings', ''), ('sealed', '');

-- One row for each process that writes: the number of its last commit, for when the answer to one is lost.
CREATE TABLE writers (
    id     text COLLATE "C" PRIMARY KEY,
    serial bigint NOT NULL,
    sealed boolean NOT NULL,
    seen   timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE identifiers (
    key     text COLLATE "C" NOT NULL,
    name    text COLLATE "C",  -- NULL: it is written as its key is
    scheme  text COLLATE "C" NOT NULL CHECK (scheme IN ('handle', 'ibi', 'ppid')),
    state   text COLLATE "C" NOT NULL CHECK (state IN ('reserved', 'active', 'withdrawn', 'merged')),
    target  text COLLATE "C",
    version integer NOT NULL CHECK (version >= 1),
    record  bytea NOT NULL,
    subject text COLLATE "C",  -- NULL: the row is its own subject
    created text COLLATE "C",
    added   bigint NOT NULL,   -- the order in which names came; two processes may be given the same
    PRIMARY KEY (key)
) PARTITION BY HASH (key);

CREATE TABLE revisions (
    key     text COLLATE "C" NOT NULL,
    version integer NOT NULL CHECK (version >= 1),
    at      text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    action  text COLLATE "C" NOT NULL,
    note    text COLLATE "C",
    record  bytea NOT NULL,
    PRIMARY KEY (key, version)
) PARTITION BY HASH (key);

CREATE TABLE words (
    key     text COLLATE "C" NOT NULL,
    added   bigint NOT NULL,
    lexemes tsvector NOT NULL,
    PRIMARY KEY (key)
) PARTITION BY HASH (key);
CREATE INDEX words_lexemes ON words USING gin (lexemes);
CREATE INDEX words_added ON words (added);

-- What is said is found by its digest: an index cannot hold long texts.
CREATE TABLE reverse (
    data  bytea NOT NULL,
    type  text COLLATE "C" NOT NULL,
    added bigint NOT NULL,
    key   text COLLATE "C" NOT NULL,
    PRIMARY KEY (data, type, added, key)
) PARTITION BY HASH (data);

CREATE TABLE person_inputs (
    uuid_raw text COLLATE "C" NOT NULL,
    name     text COLLATE "C" NOT NULL,
    PRIMARY KEY (uuid_raw)
) PARTITION BY HASH (uuid_raw);

-- The same the other way round: what is partitioned by one column can be unique by that column only.
CREATE TABLE person_names (
    name     text COLLATE "C" NOT NULL REFERENCES identifiers (key),
    uuid_raw text COLLATE "C" NOT NULL,
    PRIMARY KEY (name)
) PARTITION BY HASH (name);

CREATE TABLE derivations (
    prid    text COLLATE "C" NOT NULL REFERENCES identifiers (key),
    version integer NOT NULL,
    poid    text COLLATE "C" NOT NULL REFERENCES identifiers (key),
    PRIMARY KEY (prid, version, poid),
    CHECK (poid <> prid)
) PARTITION BY HASH (prid);
CREATE INDEX derivations_by_poid ON derivations (poid);

CREATE TABLE prefixes (
    key            text COLLATE "C" PRIMARY KEY,
    opaque         text COLLATE "C" UNIQUE,
    name           text COLLATE "C" NOT NULL,
    scheme         text COLLATE "C" NOT NULL,
    minter         text COLLATE "C" NOT NULL,
    case_sensitive boolean NOT NULL,
    parent         text COLLATE "C",
    policy         text COLLATE "C" NOT NULL,
    pattern        text COLLATE "C",
    subsystem      text COLLATE "C",
    created        text COLLATE "C" NOT NULL
);

CREATE TABLE timelines (
    key  text COLLATE "C" PRIMARY KEY,
    last text COLLATE "C"  -- an exact fraction; NULL: the row is there to be locked, and nothing was issued yet
);

CREATE TABLE agents (
    id         text COLLATE "C" PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    identifier text COLLATE "C" NOT NULL UNIQUE,
    created    text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL
);

CREATE TABLE keys (
    id      text COLLATE "C" PRIMARY KEY,
    agent   text COLLATE "C" NOT NULL REFERENCES agents (id),
    digest  bytea NOT NULL,
    created text COLLATE "C" NOT NULL,
    expires text COLLATE "C",
    revoked text COLLATE "C",
    label   text COLLATE "C" NOT NULL
);

CREATE TABLE grants (
    agent    text COLLATE "C" NOT NULL REFERENCES agents (id),
    scope    text COLLATE "C" NOT NULL,
    action   text COLLATE "C" NOT NULL,
    own      boolean NOT NULL,
    until    text COLLATE "C",
    given_by text COLLATE "C" NOT NULL,
    given_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (agent, scope, action, own)
);

CREATE TABLE events (
    added   bigint NOT NULL,
    writer  text COLLATE "C" NOT NULL,
    at      text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    action  text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    detail  text COLLATE "C" NOT NULL,
    PRIMARY KEY (added, writer)
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER revisions_stay BEFORE UPDATE OR DELETE ON revisions
    FOR EACH ROW EXECUTE FUNCTION refuse_change('revisions are never changed, and never deleted');
CREATE TRIGGER identifiers_are_kept BEFORE DELETE ON identifiers
    FOR EACH ROW EXECUTE FUNCTION refuse_change('identifiers are never deleted');
CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_change('events are never changed, and never deleted');
CREATE TRIGGER revisions_are_not_emptied BEFORE TRUNCATE ON revisions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('revisions are never deleted');
CREATE TRIGGER identifiers_are_not_emptied BEFORE TRUNCATE ON identifiers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('identifiers are never deleted');
CREATE TRIGGER events_are_not_emptied BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('events are never deleted');
CREATE TRIGGER prefix_identity_stays BEFORE UPDATE OF case_sensitive, scheme, opaque ON prefixes
    FOR EACH ROW
    WHEN ((NEW.case_sensitive, NEW.scheme, NEW.opaque) IS DISTINCT FROM (OLD.case_sensitive, OLD.scheme, OLD.opaque))
    EXECUTE FUNCTION refuse_change('what a prefix compares by is fixed for life');
"""

_PARTITIONED: Final = (
    "identifiers",
    "revisions",
    "words",
    "reverse",
    "person_inputs",
    "person_names",
    "derivations",
)

_APPEND_ONLY: Final = ("identifiers", "revisions")

# Secrets are encrypted with a key outside the database. Answers are stored for a limited time, so that a repeated
# request is run once. Neither table has a foreign key: copies insert them before the names.
_SECOND: Final = """
CREATE TABLE secrets (
    key         text COLLATE "C" NOT NULL,
    value_index integer NOT NULL,
    sealed      bytea NOT NULL,
    PRIMARY KEY (key, value_index)
);

CREATE TABLE answers (
    agent  text COLLATE "C" NOT NULL,
    token  text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    answer bytea NOT NULL,
    at     text COLLATE "C" NOT NULL,
    PRIMARY KEY (agent, token)
);
CREATE INDEX answers_by_age ON answers (at);

ALTER TABLE prefixes ADD COLUMN pass_through boolean NOT NULL DEFAULT false;
"""

# Both engines have the same version numbers, and this step concerns the embedded store alone. Here a round trip to the
# server costs far more than a separate index would save.
_THIRD: Final = "SELECT 1;"

# A redaction removes content from a revision; the revision itself stays, and records the redaction. And a client of the
# change feed needs an order in which nothing is inserted later: an import has old dates.
_FOURTH: Final = """
DROP TRIGGER revisions_stay ON revisions;
ALTER TABLE revisions ADD COLUMN added bigint NOT NULL DEFAULT 0;
UPDATE revisions AS r SET added = n.number
    FROM (SELECT key, version, row_number() OVER (ORDER BY at, key, version) AS number FROM revisions) AS n
    WHERE r.key = n.key AND r.version = n.version;
CREATE TRIGGER revisions_stay BEFORE UPDATE ON revisions
    FOR EACH ROW
    WHEN ((NEW.key, NEW.version, NEW.at, NEW.agent, NEW.action) IS DISTINCT FROM
          (OLD.key, OLD.version, OLD.at, OLD.agent, OLD.action) OR position('"redaction":'::bytea IN NEW.record) = 0)
    EXECUTE FUNCTION refuse_change('revisions are never changed, and never deleted');
CREATE INDEX revisions_added ON revisions (added);
DROP TRIGGER IF EXISTS revisions_are_kept ON revisions;
CREATE TRIGGER revisions_are_kept BEFORE DELETE ON revisions
    FOR EACH ROW EXECUTE FUNCTION refuse_change('revisions are never changed, and never deleted');

-- PPID, section 12.2, under its own names. One tree serves both columns that it wants indexed: there are two types, so
-- that a question about the time alone is two short ranges of it. That works because the view names the types.
CREATE INDEX persons_by_type ON identifiers (substr(key, 1, 4), created) WHERE scheme = 'ppid';
CREATE VIEW persons AS
    SELECT i.key AS ppid, substr(i.key, 1, 4) AS ppid_type, i.created AS created_at, p.uuid_raw AS uuid_raw
    FROM identifiers AS i JOIN person_names AS p ON p.name = i.key
    WHERE i.scheme = 'ppid' AND substr(i.key, 1, 4) IN ('POID', 'PRID');
"""

# Prefixes and agents get more settings. Resolutions are counted for each name, day and kind of client.
_SIXTH: Final = """
ALTER TABLE prefixes ADD COLUMN ttl integer;
ALTER TABLE prefixes ADD COLUMN joiners boolean NOT NULL DEFAULT false;
ALTER TABLE agents ADD COLUMN retired text COLLATE "C";

CREATE TABLE resolutions (
    key    text COLLATE "C" NOT NULL,
    day    text COLLATE "C" NOT NULL,
    client text COLLATE "C" NOT NULL,
    count  bigint NOT NULL,
    PRIMARY KEY (key, day, client)
);
"""

# Collections of items on disk. The index over roles lets an item have one original only, whatever program writes.
_SEVENTH: Final = """
INSERT INTO guards (name, value) VALUES ('holdings', '');

CREATE TABLE collections (
    name    text COLLATE "C" PRIMARY KEY,
    path    text COLLATE "C" NOT NULL UNIQUE,
    url     text COLLATE "C" UNIQUE,
    created text COLLATE "C" NOT NULL
);

CREATE TABLE holdings (
    subject     text COLLATE "C" NOT NULL,
    collection  text COLLATE "C" NOT NULL REFERENCES collections (name),
    label       text COLLATE "C" NOT NULL,
    role        text COLLATE "C" NOT NULL CHECK (role IN ('original', 'copy')),
    role_since  text COLLATE "C" NOT NULL,
    version     integer NOT NULL CHECK (version >= 1),
    files       bigint NOT NULL,
    size        bigint NOT NULL,
    digest      text COLLATE "C" NOT NULL,
    main_file   text COLLATE "C",
    put_at      text COLLATE "C" NOT NULL,
    source      text COLLATE "C" NOT NULL,
    verified_at text COLLATE "C",
    outcome     text COLLATE "C",
    PRIMARY KEY (subject, collection)
);
CREATE UNIQUE INDEX one_original ON holdings (subject) WHERE role = 'original';
CREATE INDEX holdings_by_collection ON holdings (collection, subject);
CREATE INDEX holdings_by_check ON holdings (collection, (coalesce(verified_at, '')), subject);
"""

# The host and the address of an IBI subsystem may change. A label prefix stays with its subsystem for ever, and the
# times in which the subsystem issued labels under it are recorded.
_EIGHTH: Final = """
CREATE TABLE label_periods (
    label   text COLLATE "C" NOT NULL,  -- the key of a label prefix
    started text COLLATE "C" NOT NULL,
    ended   text COLLATE "C",
    kind    text COLLATE "C" NOT NULL CHECK (kind IN ('name', 'address')),
    prefix  text COLLATE "C" NOT NULL REFERENCES prefixes (key),
    PRIMARY KEY (label, started),
    CHECK (ended > started)
);
CREATE UNIQUE INDEX open_label_periods ON label_periods (prefix, kind) WHERE ended IS NULL;
CREATE INDEX label_periods_by_prefix ON label_periods (prefix);
INSERT INTO label_periods (label, started, kind, prefix)
    SELECT key, created, 'name', key FROM prefixes WHERE subsystem IS NOT NULL;
INSERT INTO label_periods (label, started, kind, prefix)
    SELECT opaque, created, 'address', key FROM prefixes WHERE subsystem IS NOT NULL AND opaque IS NOT NULL;

CREATE FUNCTION refuse_other_prefix() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_taken boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.label_periods WHERE label = $1 AND prefix <> $2)', TG_TABLE_SCHEMA)
        INTO is_taken USING NEW.label, NEW.prefix;
    IF is_taken THEN
        RAISE EXCEPTION 'a label prefix stays with one subsystem' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER label_periods_belong_to_one_prefix BEFORE INSERT ON label_periods
    FOR EACH ROW EXECUTE FUNCTION refuse_other_prefix();
CREATE TRIGGER label_periods_stay BEFORE UPDATE ON label_periods
    FOR EACH ROW
    WHEN ((NEW.label, NEW.started, NEW.kind, NEW.prefix) IS DISTINCT FROM
          (OLD.label, OLD.started, OLD.kind, OLD.prefix)
          OR (OLD.ended IS NOT NULL AND NEW.ended IS DISTINCT FROM OLD.ended))
    EXECUTE FUNCTION refuse_change('label periods are never changed');
CREATE TRIGGER label_periods_are_kept BEFORE DELETE ON label_periods
    FOR EACH ROW EXECUTE FUNCTION refuse_change('label periods are never deleted');
CREATE TRIGGER label_periods_are_not_emptied BEFORE TRUNCATE ON label_periods
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('label periods are never deleted');

DROP TRIGGER prefix_identity_stays ON prefixes;
CREATE TRIGGER prefix_identity_stays BEFORE UPDATE OF case_sensitive, scheme ON prefixes
    FOR EACH ROW
    WHEN ((NEW.case_sensitive, NEW.scheme) IS DISTINCT FROM (OLD.case_sensitive, OLD.scheme))
    EXECUTE FUNCTION refuse_change('what a prefix compares by is fixed for life');
"""

# Other servers, to which names are sent on.
_NINTH: Final = """
CREATE TABLE peers (
    name       text COLLATE "C" PRIMARY KEY,
    url        text COLLATE "C" NOT NULL UNIQUE,
    prefixes   text NOT NULL,
    server     text COLLATE "C",
    public_key text COLLATE "C",
    private    boolean NOT NULL,
    added      text COLLATE "C" NOT NULL,
    announced  text NOT NULL,
    checkpoint bigint NOT NULL,
    seen       text COLLATE "C"
);
"""

# Pools of IBI subsystems. `members` is a JSON array of the keys of their prefixes.
_TENTH: Final = """
CREATE TABLE pools (
    name    text COLLATE "C" PRIMARY KEY,
    policy  text COLLATE "C" NOT NULL CHECK (policy IN ('round-robin', 'least-waiting', 'hash')),
    members text COLLATE "C" NOT NULL,
    created text COLLATE "C" NOT NULL
);
"""

# The labels of held items that are not registered here: those of items that were copied from other servers.
_ELEVENTH: Final = """
ALTER TABLE holdings ADD COLUMN names text NOT NULL DEFAULT '[]';

CREATE TABLE held_names (
    subject    text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    PRIMARY KEY (subject, collection, name)
);
CREATE INDEX held_names_by_name ON held_names (name, subject);

UPDATE holdings SET names = json_build_array(subject)::text
    WHERE NOT EXISTS (SELECT 1 FROM identifiers WHERE identifiers.key = holdings.subject);
INSERT INTO held_names (subject, collection, name)
    SELECT subject, collection, subject FROM holdings WHERE names <> '[]';
"""

Step = str | Callable[[Connection], None]
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

_TRIES: Final = 10
_ANY_RELATION: Final = (
    "SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s LIMIT 1"
)


def create_schema(connection: Connection, schema: str, partitions: int) -> None:
    """Create the schema with all tables, atomically. If two programs create it at once, both succeed."""
    for _ in range(_TRIES):
        try:
            return _create_schema_once(connection, schema, partitions)
        except (pg.UniqueViolation, pg.DuplicateTable, pg.DuplicateSchema):  # another program was first
            time.sleep(0.1)
    return _create_schema_once(connection, schema, partitions)


def _create_schema_once(connection: Connection, schema: str, partitions: int) -> None:
    with connection.transaction():
        if schema_version(connection) == 0 and connection.execute(_ANY_RELATION, (schema,)).fetchone() is not None:
            raise StoreUnavailable(
                f"the schema {schema} contains other tables, and was not changed: name another schema"
            )
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
        )
        connection.execute("LOCK TABLE migrations IN EXCLUSIVE MODE")
        if schema_version(connection) == 0:
            connection.execute(_FIRST, prepare=False)
            for table in _PARTITIONED:
                for number in range(partitions):
                    _add_partition(connection, table, number, partitions)
            connection.execute("INSERT INTO migrations (number) VALUES (1)")
            _run_steps(connection)


def _add_partition(connection: Connection, table: str, number: int, of: int) -> None:
    name = f"{table}_{number:03d}"
    connection.execute(
        f"CREATE TABLE {name} PARTITION OF {table} FOR VALUES WITH (MODULUS {of}, REMAINDER {number})", prepare=False
    )
    if table in _APPEND_ONLY:  # a partition does not inherit triggers for whole statements
        connection.execute(
            f"CREATE TRIGGER {name}_is_not_emptied BEFORE TRUNCATE ON {name} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('{table} are never deleted')",
            prepare=False,
        )


def migrate(connection: Connection, seconds: float) -> None:
    """Apply all missing migrations, atomically. `seconds` is the timeout of each statement, for large tables."""
    connection.execute("SELECT set_config('statement_timeout', %s, false)", (f"{seconds * 1000:.0f}ms",))
    connection.reply_timeout = max(connection.reply_timeout, seconds)
    with connection.transaction():
        connection.execute("LOCK TABLE migrations IN EXCLUSIVE MODE")  # another process may migrate at the same time
        _run_steps(connection)


def check_schema(connection: Connection, schema: str) -> None:
    """Refuse a schema that does not exist, one that is newer than this program, and one that is older."""
    version = schema_version(connection)
    if version == 0:
        reason = f"no registry found in the schema {schema} of this database: create one with perdure init"
        raise StoreUnavailable(f"{reason}; if that was interrupted, run it again")
    check_not_newer(version, len(MIGRATIONS))
    check_migrated(version, len(MIGRATIONS))


def schema_version(connection: Connection) -> int:
    exists = connection.execute("SELECT to_regclass('migrations') IS NOT NULL").fetchone()
    if exists is None or not exists[0]:
        return 0
    row = connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()
    return 0 if row is None else int(row[0])


def _run_steps(connection: Connection) -> None:
    version = schema_version(connection)
    check_not_newer(version, len(MIGRATIONS))
    for number in range(version, len(MIGRATIONS)):
        step = MIGRATIONS[number]
        if isinstance(step, str):
            connection.execute(step, prepare=False)
        else:
            step(connection)
        connection.execute("INSERT INTO migrations (number) VALUES (%s)", (number + 1,))
