"""A sentence for packages of the extra ``memlens[fleet]`` that aren't installed."""

import contextlib
from collections.abc import Iterator

from memlens.errors import MemlensError
from memlens.texts import phrase


class MissingPackageError(MemlensError):
    """A package that only fleets need is missing."""

    code = "missing-package"
    advice = phrase("Install it: python -m pip install 'memlens[fleet]'.")
    retry = False


@contextlib.contextmanager
def needed(package: str) -> Iterator[None]:
    """Raises :class:`MissingPackageError` where ``package`` can't be imported."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            phrase("Fleets need the package {package}, which isn't installed", package=package)
        ) from error
