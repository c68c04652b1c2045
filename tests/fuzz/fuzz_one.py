"""One target under atheris; started by ``run.py``, with the instrumented kernels first on the path."""

import sys

import atheris

with atheris.instrument_imports(include=["memlens"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """``fuzz_one.py TARGET [options of libFuzzer] CORPUS``."""
    target = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        target(data)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
