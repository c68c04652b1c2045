"""Archives: folders of mapped columns, and the cache of archives."""
