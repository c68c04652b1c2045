"""Call trees, as flame graphs and as tables."""
