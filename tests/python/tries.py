"""How often a test tries something with values by chance: a third as often as with ``npm test -- --slow``."""

import pytest

_LEFT_OUT = "not nightly"


class _Run:
    divisor = 1


def choose(config: pytest.Config) -> None:
    """Have a run without the nightly tests try less often; one of chosen files tries as often as ``--slow``."""
    _Run.divisor = 3 if config.getoption("markexpr", "") else 1


def tries(most: int) -> int:
    """The number of tries of which ``--slow`` makes ``most``."""
    return -(-most // _Run.divisor)
