"""The commands of the command line, a module each: see :mod:`memlens.cli.command_line`."""
