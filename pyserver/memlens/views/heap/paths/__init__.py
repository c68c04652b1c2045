"""Why objects are alive: the paths to them from roots."""
