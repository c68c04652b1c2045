"""The commands that Memlens runs itself, a module each."""
