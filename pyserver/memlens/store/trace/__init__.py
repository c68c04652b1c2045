"""What archives hold of traces alone."""
