"""The store on a PostgreSQL server: look-ups gathered into one question, group commit, COPY for bulk."""

from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.store import PostgresStore

__all__ = ["PostgresOptions", "PostgresStore"]
