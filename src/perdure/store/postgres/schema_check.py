"""The comparison of a registry's schema, as PostgreSQL's catalogue describes it, with that of the migrations.

How a server writes a definition depends on its version, so nothing is compared with a stored text: the migrations are
applied to a schema of another name, in a transaction that is rolled back, and the same query describes both. That
takes a tenth of a second or more. A file in the registry's folder has the digest of the last correct description, so
that opening the registry only needs one description.
"""

import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from perdure.errors import SchemaChanged
from perdure.store.postgres import migrations
from perdure.store.postgres.connection import Connection
from perdure.store.schema_check import Part, list_differences

# The name of every part, and its definition. Excluded are properties that an administrator may set without changing
# the effect of a statement (owners, privileges, storage, statistics), and the constraints and triggers that the server
# itself adds for a foreign key on partitions: their names contain counters, and their parents are compared. Such a
# trigger is listed if it is disabled.
_PARTS: Final = """
WITH here AS (SELECT oid FROM pg_namespace WHERE nspname = current_schema()),
relations AS (
    SELECT c.relname AS name, c.* FROM pg_class AS c JOIN here ON here.oid = c.relnamespace
)
SELECT CASE r.relkind WHEN 'v' THEN 'view ' WHEN 'm' THEN 'materialized view ' WHEN 'S' THEN 'sequence '
            WHEN 'f' THEN 'foreign table ' WHEN 'c' THEN 'type ' ELSE 'table ' END || r.name,
    concat_ws(' ', r.relkind, r.relpersistence, r.relrowsecurity, r.relforcerowsecurity,
        CASE WHEN r.relkind IN ('v', 'm') THEN r.reloptions::text END, pg_get_expr(r.relpartbound, r.oid),
        (SELECT string_agg(inhparent::regclass::text, ',' ORDER BY inhseqno) FROM pg_inherits WHERE inhrelid = r.oid))
    FROM relations AS r WHERE r.relkind NOT IN ('i', 'I')
UNION ALL
SELECT 'column ' || a.attname || ' of ' || r.name,
    concat_ws(' ', row_number() OVER (PARTITION BY r.oid ORDER BY a.attnum), format_type(a.atttypid, a.atttypmod),
        a.attnotnull, a.attcollation::regcollation, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid))
    FROM relations AS r JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef AS d ON d.adrelid = r.oid AND d.adnum = a.attnum WHERE r.relkind NOT IN ('i', 'I')
UNION ALL
SELECT 'index ' || x.relname || ' on ' || r.name,
    concat_ws(' ', pg_get_indexdef(i.indexrelid, 0, true), i.indisvalid, i.indisready, i.indislive)
    FROM relations AS r JOIN pg_index AS i ON i.indrelid = r.oid JOIN pg_class AS x ON x.oid = i.indexrelid
UNION ALL
SELECT 'constraint ' || c.conname || ' on ' || r.name,
    concat_ws(' ', pg_get_constraintdef(c.oid, true), c.convalidated)
    FROM relations AS r JOIN pg_constraint AS c ON c.conrelid = r.oid AND (c.contype <> 'f' OR c.conparentid = 0)
UNION ALL
SELECT CASE WHEN t.tgisinternal AND t.tgconstraint <> 0 THEN 'switched-off trigger ' ELSE 'trigger ' END
        || t.tgname || ' on ' || r.name,
    concat_ws(' ', pg_get_triggerdef(t.oid, true), t.tgenabled)
    FROM relations AS r JOIN pg_trigger AS t ON t.tgrelid = r.oid
    WHERE NOT (t.tgisinternal AND t.tgconstraint <> 0) OR t.tgenabled <> 'O'
UNION ALL
SELECT 'rule ' || w.rulename || ' on ' || r.name, concat_ws(' ', pg_get_ruledef(w.oid, true), w.ev_enabled)
    FROM relations AS r JOIN pg_rewrite AS w ON w.ev_class = r.oid
UNION ALL
SELECT 'policy ' || p.polname || ' on ' || r.name, concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::text,
        pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
    FROM relations AS r JOIN pg_policy AS p ON p.polrelid = r.oid
UNION ALL
SELECT 'table ' || i.inhrelid::regclass || ' under ' || r.name, ''
    FROM relations AS r JOIN pg_inherits AS i ON i.inhparent = r.oid JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE c.relnamespace <> r.relnamespace
UNION ALL
SELECT 'function ' || f.proname || '(' || pg_get_function_identity_arguments(f.oid) || ')',
    concat_ws(' ', f.prokind, l.lanname, pg_get_function_result(f.oid), f.prosecdef, f.proleakproof, f.proisstrict,
        f.provolatile, f.proconfig::text, f.probin, f.prosrc)
    FROM here JOIN pg_proc AS f ON f.pronamespace = here.oid JOIN pg_language AS l ON l.oid = f.prolang
UNION ALL
SELECT pg_describe_object(d.classid, d.objid, 0), ''
    FROM here JOIN pg_depend AS d ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = here.oid
    WHERE d.classid NOT IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_default_acl'::regclass)
"""
_PARTITIONS: Final = (
    "SELECT count(*) FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhparent "
    "WHERE c.relname = 'identifiers' AND c.relnamespace = current_schema()::regnamespace"
)

_expected: dict[tuple[int, int, tuple[migrations.Step, ...]], list[Part]] = {}


def check_parts(connection: Connection, known: Path) -> None:
    """Refuse a schema of the current version with unexpected, missing or different parts.

    `known` is the file with the digest of the last correct description.
    """
    parts = _read_parts(connection)
    digest = _digest_parts(parts)
    with suppress(OSError):
        if known.read_text("ascii", "replace").strip() == digest:
            return
    differences = list_differences(parts, _expect_parts(connection))
    if differences:
        raise SchemaChanged(differences)
    with suppress(OSError):  # the folder is not writable: the schema is compared again next time
        known.write_text(f"{digest}\n", "ascii")


def find_differences(connection: Connection) -> list[str]:
    """Return the differences from the schema that the migrations create."""
    return list_differences(_read_parts(connection), _expect_parts(connection))


def _read_parts(connection: Connection) -> list[Part]:
    return [(name, definition) for name, definition in connection.execute(_PARTS, prepare=False)]


def _digest_parts(parts: list[Part]) -> str:
    """Return a digest of a description and of the migrations."""
    steps = [step if isinstance(step, str) else step.__qualname__ for step in migrations.MIGRATIONS]
    return sha256(repr((steps, sorted(parts))).encode()).hexdigest()


def _expect_parts(connection: Connection) -> list[Part]:
    """Return the parts that the migrations create on this server; computed once per process."""
    row = connection.execute(_PARTITIONS).fetchone()
    partitions = max(1, 0 if row is None else int(row[0]))
    key = connection.info.server_version, partitions, migrations.MIGRATIONS
    if key not in _expected:
        _expected[key] = _make_parts(connection, partitions)
    return _expected[key]


def _make_parts(connection: Connection, partitions: int) -> list[Part]:
    other = f"perdure$check_{secrets.token_hex(4)}"  # no registry can have this name
    with connection.transaction(force_rollback=True):
        connection.execute("SELECT set_config('search_path', %s, true)", (other,))
        migrations.create_schema(connection, other, partitions)
        return _read_parts(connection)
