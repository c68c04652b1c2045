"""Makes the extension's packages and the Python package's wheels for every platform, on one Linux machine."""

import sys
from pathlib import Path

# How kernels become C is beside the setup.py of memlens.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pyserver"))
