"""Hot loops over the lines of heap dumps of V8."""
