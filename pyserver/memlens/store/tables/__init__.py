"""The tables for SQL: described in ``tables.sql``, filled from an archive's columns into SQLite's files."""
