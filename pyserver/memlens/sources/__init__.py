"""From the paths and lines of a snapshot to files here: no LSP and no snapshot is known here."""
