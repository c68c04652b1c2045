"""Questions to a heap dump: its types and objects, what holds them, and what they hold."""
