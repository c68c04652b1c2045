"""Limits on what a snapshot may hold, each of which is kept, exceeded or can't be checked."""
