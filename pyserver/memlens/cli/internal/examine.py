"""Make the findings of a heap dump's archive before they are first asked for."""

import argparse
import gc

from memlens import limits
from memlens.cli.archive_work import work_in
from memlens.cli.options import add_archive
from memlens.cli.output import say
from memlens.views.examining import examine
from memlens.views.findings.ahead import FINDINGS


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_archive(command)


def run(options: argparse.Namespace) -> int:
    # nearly all objects live until the process ends, and none are in reference cycles
    gc.disable()
    limits.share_one_heap()
    if work_in(options, examine):
        say(FINDINGS.path(options.archive))
    return 0
