"""Short names of files, against their definition, and of real files' frames."""

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.python.conftest import WithOracle

from memlens.views.naming.file_names import file_names, shortest_ends

PARTS = st.lists(st.sampled_from(["", "a", "b", "mod.rs"]), min_size=1, max_size=5)
PATHS = st.builds(lambda parts, separator: separator.join(parts), PARTS, st.sampled_from("/\\"))


def expected(path: str, paths: set[str]) -> str:
    """The shortest suffix of whole components that no other path ends with, or the whole path."""
    parts = re.split(r"[/\\]", path)
    for some in range(1, len(parts)):
        end = parts[-some:]
        if not any(re.split(r"[/\\]", other)[-some:] == end for other in paths - {path}):
            return re.split(r"[/\\]", path, maxsplit=len(parts) - some)[-1]
    return path


@given(st.sets(PATHS, max_size=8))
def test_names_are_the_shortest_unique_suffixes(paths: set[str]) -> None:
    names = shortest_ends(paths)
    last = [re.split(r"[/\\]", path)[-1] for path in paths]
    assert set(names) == {path for path in paths if last.count(re.split(r"[/\\]", path)[-1]) > 1}
    assert names == {path: expected(path, paths) for path in names}


def test_paths_without_end_are_shown_whole() -> None:
    long = "/".join(["x"] * 100_000)
    assert shortest_ends([f"/a/{long}", f"/b/{long}"]) == {
        f"/a/{long}": f"/a/{long}",
        f"/b/{long}": f"/b/{long}",
    }


def test_names_distinguish_the_files_of_a_snapshot(with_oracle: WithOracle) -> None:
    snapshot, _, _ = with_oracle
    names = file_names(snapshot).names
    files = {row[0] for row in snapshot.frames.each()}
    called = [names.get(file, re.split(r"[/\\]", file)[-1]) for file in files]
    assert len(set(called)) == len(files)
