"""Rules for heap dumps: what retains most, and patterns that waste memory or keep it longer than intended."""
