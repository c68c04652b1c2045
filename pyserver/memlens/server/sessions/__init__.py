"""What the server keeps between requests: open snapshots, children at work, comparisons, SQL sessions."""
