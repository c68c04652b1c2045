"""Makes the extension's packages and the Python package's wheels for every platform, on one Linux machine."""
