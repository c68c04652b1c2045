"""Lists of objects, types and threads; the details of one object; the overview of the dump."""
