"""Hot loops over the records of HPROF."""
