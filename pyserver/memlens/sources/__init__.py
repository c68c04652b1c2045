"""From the paths and lines of a snapshot to local files. Nothing in this package knows LSP or an open snapshot."""
