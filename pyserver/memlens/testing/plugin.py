"""The pytest plug-in, which pytest finds by the entry point ``memlens``: ``pytest --memlens``.

Every run of pytest where Memlens is installed imports this module, so it imports nothing else before a marked test is
there to be run. See docs/pytest.md.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from memlens.testing.recording import Recording

MARK = "memory"
KEPT = "memlens"
"""The property of a report that names a kept file."""
FOLDER = ".memlens"
_DESCRIPTION = (
    f"{MARK}(peak=None, leaked=None, growth_per_iteration=None, runs=5, by=None): with --memlens, fail if the "
    "test uses more memory, as '50MiB' or 0."
)


@pytest.hookimpl
def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("memlens", "memory of tests")
    group.addoption(
        "--memlens", action="store_true", help=f"check the limits of tests that are marked {MARK}"
    )
    group.addoption(
        "--memlens-by",
        default="",
        metavar="NAME",
        help="what records, unless a mark says so (see docs/pytest.md)",
    )
    group.addoption(
        "--memlens-folder",
        default=FOLDER,
        metavar="DIR",
        help=f"where files of tests that exceed a limit are kept, to be opened (default: {FOLDER})",
    )


@pytest.hookimpl
def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", _DESCRIPTION)


@pytest.hookimpl
def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to record only if a test is marked: other runs have no further hooks."""
    config = session.config
    if not config.getoption("memlens") or config.getoption("collectonly"):
        return
    marked = {
        item.nodeid: mark for item in session.items if (mark := item.get_closest_marker(MARK)) is not None
    }
    if marked:
        # imported here, because it takes longer than many runs
        from memlens.testing.recording import Recording

        config.pluginmanager.register(_Recorder(Recording(config, marked)), "memlens-recorder")


class _Recorder:
    """Measures marked tests."""

    def __init__(self, recording: "Recording") -> None:
        self._recording = recording

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measure the innermost: what fixtures allocate is theirs."""
        measured = self._recording.begin(item)
        if measured is None:
            return (yield)
        with measured:
            result = yield
        measured.check()
        return result


@pytest.hookimpl
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the files that are kept, also those of other processes (xdist), which reports bring along."""
    kept = [
        (report.nodeid, value)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == KEPT and getattr(report, "when", "") == "call"
    ]
    if kept:
        terminalreporter.section("memory of tests")
        for test, file in kept:
            terminalreporter.write_line(f"{test}: open {file} in Memlens")
