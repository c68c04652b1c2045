"""The hot loop of the second reading, which knows nothing of the first."""
