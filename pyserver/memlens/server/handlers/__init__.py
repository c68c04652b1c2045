"""The handlers of requests, a file for each subject; ``app.create_server`` registers them."""
