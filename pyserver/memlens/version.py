"""The version of this program."""

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """The version of the package; 0 if it is run from a folder and not installed."""
    try:
        return version("memlens")
    except PackageNotFoundError:
        return "0"
