"""Other names for what a Python program named after its data: threads."""

import re
from collections.abc import Iterable

_OF_THE_RUNTIME = re.compile(
    r"MainThread|(?:Thread|Dummy|Timer|Pool)-[0-9]{1,3}|Thread-[0-9]{1,3} \([\w.<>]+\)|asyncio_[0-9]{1,3}"
    r"|QueueFeederThread|ThreadPoolExecutor-[0-9]{1,3}_[0-9]{1,3}|ExecutorManagerThread|pydevd\.\w+"
)
"""Names that the runtime gives to threads. A program may give them, too, with a number of its data instead of a count,
so that none of more than three digits stays."""


class ThreadNames:
    """Other names for threads, but for those that the runtime names."""

    def __init__(self) -> None:
        self._new: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """The name by which a thread is written."""
        if not name or _OF_THE_RUNTIME.fullmatch(name):
            return name
        return self._new.setdefault(name, f"thread-{len(self._new) + 1}")


def other_threads(
    threads: Iterable[tuple[int, bytes, bool]], details: Iterable[tuple[int, bytes, bool]]
) -> dict[int, bytes]:
    """Other texts for names of threads, and for ``details`` that have one in parentheses at the end, by number.

    With each text it is said whether it names something else, too, as a function: such a thread keeps its name.
    """
    new_name = ThreadNames()
    known, new = dict[str, str](), dict[int, str]()
    for number, text, is_name in threads:
        name = text.decode("utf-8", "replace")
        known[name] = name if is_name else new_name(name)
        new[number] = known[name]
    for number, text, is_name in details:
        if not is_name:
            new[number] = _other_detail(text.decode("utf-8", "replace"), known)
    return {number: text.encode("utf-8", "replace") for number, text in new.items()}


def _other_detail(detail: str, known: dict[str, str]) -> str:
    """A detail with another name of the thread at its end, which may have parentheses of its own."""
    at = detail.find(" (")
    while at >= 0:
        name = detail[at + 2 : -1]
        if name in known:
            return f"{detail[:at]} ({known[name]})"
        at = detail.find(" (", at + 1)
    return detail.partition(" (")[0]
