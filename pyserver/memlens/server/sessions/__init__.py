"""What the server keeps between requests: open snapshots, child processes, comparisons, SQL sessions."""
