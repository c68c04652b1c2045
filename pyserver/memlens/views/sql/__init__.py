"""SQL queries on a snapshot."""
