"""What a pack may declare of how a program is started so that it leaves a file when its memory runs out."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memlens.packs.api.parts import Part
from memlens.record import Settings
from memlens.texts import Text

Variables = Callable[[Mapping[str, str], Settings], dict[str, str]]
"""The variables to set, given those that there are, and what to record where."""
Arguments = Callable[[Sequence[str], Path], list[str]]
"""The command line to run instead of one, with files into a folder. Raises BadRequestError."""


class Launch(Struct, frozen=True, kw_only=True):
    """A way of starting programs: with other variables, with another command line, or with a recorder inside."""

    name: str
    """Unique; with two hyphens before it the option that chooses it."""
    records: Text
    """What it records, for the option's help."""
    programs: re.Pattern[str]
    """The names of programs, without ``.exe``, that can be started so."""
    is_chosen: bool = True
    """Whether such programs are started so without its option; of several by their order."""
    recorder: bool = False
    """Whether ``recorder.py`` in the pack's folder is loaded by the program, see ``memlens/record.py``."""
    has_limit: bool = False
    """Whether a file is written once so much memory is resident, also without ``recorder.py``."""
    variables: Part[Variables] | None = None
    arguments: Part[Arguments] | None = None
    asked_by: str = ""
    """The signal upon which it writes a file while the program runs."""
