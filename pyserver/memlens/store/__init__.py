"""Archives: folders of mapped columns, and the cache that they live in."""
