"""Starts programs so that they leave a file when their memory runs out."""
