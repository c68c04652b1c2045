"""Lists of objects, types and threads, an object with all that is about it, and the dump as a whole."""
