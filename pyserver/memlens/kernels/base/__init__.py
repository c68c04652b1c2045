"""What other kernels are made of."""
