"""Questions that only a trace of events can answer."""
