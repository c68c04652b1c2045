"""Builds the extension's packages and the Python package's wheels for every platform, on one Linux machine."""

import sys
from pathlib import Path

# The module that turns kernels into C is beside memlens's setup.py.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pyserver"))
