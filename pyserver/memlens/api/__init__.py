"""What programs and notebooks ask of snapshots: :func:`memlens.open`, with the questions of the command line."""
