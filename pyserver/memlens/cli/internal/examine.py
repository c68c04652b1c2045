"""``memlens examine``: make a heap dump's findings ahead of the first question."""

import argparse
import gc

from memlens import limits
from memlens.cli.archive_work import work_in
from memlens.cli.output import say
from memlens.views.examining import examine
from memlens.views.findings.ahead import FINDINGS


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    # nearly all objects live until the process ends, and none are in reference cycles
    gc.disable()
    limits.share_one_heap()
    if work_in(options, examine):
        say(FINDINGS.path(options.archive))
    return 0
