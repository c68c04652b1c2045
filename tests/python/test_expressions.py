"""Regular expressions in the filter over a heap dump and in SQL."""

import itertools
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.python.conftest import real_heaps
from tests.python.heap_files import small_heap
from tests.python.recordings import JAVA, LEAK

from memlens.errors import BadRequestError, CancelledError
from memlens.kernels.base.work import Work
from memlens.store.snapshot import Snapshot
from memlens.views.heap.filters.filters import chosen
from memlens.views.heap.objects.rows import type_names
from memlens.views.selection import expressions
from memlens.views.selection.expressions import Expression, regexp
from memlens.views.selection.terms import quoted
from memlens.views.selection.texts import fitting, pattern_of

SLOW = r"(a|a|aa)+$"
LONG = "a" * 40 + "b"


@pytest.fixture(
    params=["small", JAVA, *LEAK[:1], *real_heaps("v8/small_node24*", "hprof/mat_oracle_jdk8*")], ids=str
)
def dump(request: pytest.FixtureRequest, looked_at: Callable[[Path], Snapshot], tmp_path: Path) -> Snapshot:
    if request.param != "small":
        return looked_at(request.param)
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    return looked_at(path)


PATTERNS = (r"^get \w+$", r"[A-Z]{2,}", r"a, ?b", r"\.[jt]s$", "é|ß", r"\"", r"/\w+/")


@pytest.mark.slow
def test_names_and_types_fit_as_pythons_own_expressions_have_it(dump: Snapshot) -> None:
    numbers, places = np.unique(dump.objects.name, return_inverse=True)
    some = dump.strings.some(numbers)
    names, types = [some[number] for number in numbers.tolist()], type_names(dump)
    for pattern, flags in itertools.product(PATTERNS, ("", "i")):
        fits = re.compile(pattern, re.IGNORECASE if flags else 0)
        escaped = re.sub(r"(?<!\\)/", r"\\/", pattern)
        # a name or a type is looked at once, not for each of its objects
        expected = {
            "name": np.array([fits.search(text) is not None for text in names])[places],
            "type": np.array([fits.search(text) is not None for text in types])[dump.objects.type],
        }
        for field, marks in expected.items():
            for value in (f"/{escaped}/{flags}", quoted(f"/{pattern}/{flags}")):
                found = chosen(dump, f"{field}:{value}")
                assert found is not None
                assert (found.mask(dump) == marks).all(), (field, value)
                without = chosen(dump, f"-{field}:{value}")
                assert without is not None
                assert (without.mask(dump) != found.mask(dump)).all()


def test_a_slash_alone_is_no_expression(dump: Snapshot) -> None:
    for text in ("name:/", "name://", "name:/tmp", "/tmp/", "id:1"):
        assert chosen(dump, text) is not None
    assert isinstance(pattern_of("/tmp/"), Expression)
    assert not isinstance(pattern_of("/tmp/x"), Expression)


@pytest.mark.parametrize(("text", "place"), [("string:/(x/", 3), ("type:/a**/", 3), ("field:/[/", 2)])
def test_what_is_wrong_is_said_with_its_place(dump: Snapshot, text: str, place: int) -> None:
    with pytest.raises(BadRequestError, match=r"is not a regular expression: .* \(at character \d+\)"):
        chosen(dump, text)
    assert place


def test_one_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "_MOST_SECONDS", 0.05)
    with pytest.raises(BadRequestError, match="takes too long"):
        regexp(SLOW, LONG)
    # many texts that are each quick enough have a limit together
    expression, began = Expression(SLOW, seconds=0.2), time.monotonic()
    with pytest.raises(BadRequestError, match="takes too long"):
        any(expression.matches("a" * 12 + "b") for _ in range(1_000_000))
    assert time.monotonic() - began < 60
    assert regexp(None, "a") is None
    assert regexp("a", None) is None
    assert regexp("^1", 12) is True


@pytest.mark.parametrize(
    "pattern", ["(" * 2000 + ")" * 2000, "(?P<a>" * 300 + ")" * 300, "|".join(["word"] * 5000)]
)
def test_one_that_would_be_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(BadRequestError, match=r"is too deep|has more than 10,000 characters") as refused:
        Expression(pattern)
    assert len(refused.value.message.text) < 200


def test_one_that_repeats_itself_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """``(?R)`` takes seconds and half a gigabyte before the library gives up."""

    class Endless:
        def search(self, *_: object, **__: object) -> None:
            raise MemoryError

    expression = Expression("(?R)")
    monkeypatch.setattr(expression, "_compiled", Endless())
    with pytest.raises(BadRequestError, match="takes too long"):
        expression.matches("a")


def test_looking_through_texts_is_stopped(dump: Snapshot) -> None:
    work = Work()
    work.stop()
    with pytest.raises(CancelledError):
        fitting(dump.strings, [pattern_of("/x/")], work)
