"""What archives hold of profiles alone."""
