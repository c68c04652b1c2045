"""First lines and findings of real files stay as right as they are: ``npm run judge`` says which aren't."""

import pytest
from tests.judgement.judge import of_programs, verdicts, wrong_advice
from tests.python.conftest import repeated_files

from memlens.store.files.cache import Cache

RIGHT = 0.99
"""Share of first lines that are right; raise it with the rate."""
MOST_WRONG = 0
"""Findings that are wrong, over all files; lower it with them."""


@pytest.mark.slow
@pytest.mark.parametrize("of", ["one of each kind", pytest.param("all files", marks=pytest.mark.nightly)])
def test_the_rate_of_right_answers_does_not_fall(of: str, real_archives: Cache) -> None:
    """Over the files that are at hand, those of the repository at least."""
    left_out = set() if of == "all files" else repeated_files()
    found = list(verdicts(archives=real_archives, left_out=left_out))
    if of == "all files":
        found += of_programs()
    assert found
    wrong_first = [f"{each.file}: {text}" for each in found for text in each.first]
    right = sum(not each.first for each in found)
    assert right >= RIGHT * len(found), wrong_first
    wrong = [f"{each.file}: {text}" for each in found for text in each.wrong]
    assert len(wrong) <= MOST_WRONG, wrong


def test_files_of_the_repository_are_judged_right() -> None:
    assert [(each.first, each.wrong, each.missing) for each in verdicts("samples/train")] == [([], [], [])]


def test_what_is_advised_after_out_of_memory_is_what_was_written_by_hand() -> None:
    assert [(name, wrong) for name, wrong in wrong_advice() if wrong] == []
