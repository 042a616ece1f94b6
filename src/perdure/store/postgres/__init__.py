"""The store on a PostgreSQL server: batched look-ups, group commit, COPY for bulk.

Nothing is imported here, because psycopg is slow to import, and a registry on the embedded store does not need it.
"""
