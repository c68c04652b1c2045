"""The second reading of HPROF, for what a redacted dump still has."""
