"""Files with several dumps, of which one is read."""

from memlens.errors import BadRequestError
from memlens.texts import phrase, plural


def chosen(dump: int | None, count: int, default: int = -1) -> int:
    """The number of the dump to read of ``count``, from 0: if ``dump`` is None the default, -1 for the last one.

    Raises :class:`BadRequestError`.
    """
    if dump is None:
        return default % count
    if not 0 <= dump < count:
        raise BadRequestError(
            phrase(
                plural(
                    count,
                    "The file has {n} dump, numbered from 1: there is no dump {dump}",
                    "The file has {n} dumps, numbered from 1: there is no dump {dump}",
                ),
                n=count,
                dump=dump + 1,
            )
        )
    return dump
