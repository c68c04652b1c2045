"""Archives: folders of mapped columns and a text database, and the cache that they live in."""
