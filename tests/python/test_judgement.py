"""First lines and findings of real files stay as right as they are: ``npm run judge`` says which aren't."""

import pytest
from tests.judgement.judge import verdicts

RIGHT = 0.99
"""Share of first lines that are right; raise it with the rate."""
MOST_WRONG = 0
"""Findings that are wrong, over all files; lower it with them."""


@pytest.mark.slow
def test_the_rate_of_right_answers_does_not_fall() -> None:
    """Over the files that are at hand, those of the repository at least."""
    found = list(verdicts())
    assert found
    wrong_first = [f"{each.file}: {text}" for each in found for text in each.first]
    right = sum(not each.first for each in found)
    assert right >= RIGHT * len(found), wrong_first
    wrong = [f"{each.file}: {text}" for each in found for text in each.wrong]
    assert len(wrong) <= MOST_WRONG, wrong


def test_files_of_the_repository_are_judged_right() -> None:
    assert [(each.first, each.wrong, each.missing) for each in verdicts("samples/train")] == [([], [], [])]
