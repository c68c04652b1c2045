"""Questions about an open snapshot, each a small function that knows no format."""
