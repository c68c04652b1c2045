"""Archives on disk: mapping and verifying their files, the cache, disk errors."""
