"""Where archives lie: their files mapped and verified, the cache, the disk."""
