"""What archives hold of heap dumps alone."""
