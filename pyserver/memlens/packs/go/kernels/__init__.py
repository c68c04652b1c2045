"""The hot loop over the messages of a pprof profile."""
