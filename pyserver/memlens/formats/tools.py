"""Programs of others that readers may run, as the user's settings name them."""

import os
from typing import NamedTuple


class Tools(NamedTuple):
    """Empty where nothing names them."""

    memray_python: str = ""
    """The Python interpreter that has memray, whose file format only its own reader knows."""

    @classmethod
    def of_environment(cls) -> "Tools":
        """As the environment names them, for the command line."""
        return cls(os.environ.get("MEMLENS_MEMRAY_PYTHON", ""))
