"""What source lines and stacks allocated."""
