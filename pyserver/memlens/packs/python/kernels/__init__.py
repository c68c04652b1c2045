"""Hot loops over the records of heap dumps of Python, and over the pickles of tracemalloc."""
