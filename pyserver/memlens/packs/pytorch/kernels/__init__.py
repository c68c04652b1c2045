"""Hot loops over snapshots of PyTorch."""
