"""Has a program of Python record its memory: ``memlens run`` puts this folder first on its path.

Python imports this module when it starts. The ``sitecustomize`` that it would have imported otherwise is imported, too.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - imported by every Python


def _load(name: str, path: str) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


def _hidden() -> None:
    """Import the module of this name that is behind this one."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.origin is not None:
        _load("sitecustomize", spec.origin)


try:
    _load("memlens_record", os.path.join(os.path.dirname(os.path.dirname(_HERE)), "record.py"))  # noqa: PTH118, PTH120
    sys.modules["memlens_record"].start()
except Exception as error:  # noqa: BLE001 - the program runs all the same
    sys.stderr.write(f"memlens: nothing is recorded: {type(error).__name__}: {error}\n")
_hidden()
