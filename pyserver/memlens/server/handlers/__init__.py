"""The answers to each request, one file a subject; ``app.create_server`` registers them."""
