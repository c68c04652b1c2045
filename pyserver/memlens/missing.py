"""A sentence for optional packages that aren't installed."""

import contextlib
from collections.abc import Iterator

from memlens.errors import MemlensError
from memlens.texts import phrase


class MissingPackageError(MemlensError):
    """An optional package is missing."""

    code = "missing-package"
    advice = phrase("Install it: python -m pip install 'memlens[fleet]'.")
    retry = False


@contextlib.contextmanager
def needed(package: str, other: str | None = None, extra: str | None = None) -> Iterator[None]:
    """Raises :class:`MissingPackageError` where ``package`` can't be imported.

    ``other`` is a package to install with it, ``extra`` the extra of Memlens that has it: without both, that of fleets.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        advice = other and phrase(
            "Install it: python -m pip install {package} {other}.", package=package, other=other
        )
        if extra is not None:
            advice = phrase("Install it: python -m pip install 'memlens[{extra}]'.", extra=extra)
        raise MissingPackageError(
            phrase("This needs the package {package}, which isn't installed", package=package),
            advice=advice or None,
        ) from error
