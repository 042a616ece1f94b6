"""The store on a PostgreSQL server: look-ups gathered into one question, group commit, COPY for bulk.

Nothing is imported here: a registry on the embedded store does without the time that loading psycopg takes.
"""
