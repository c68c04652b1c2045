"""The reader against a file, and the examples of the rules."""

from importlib import resources
from pathlib import Path

import pytest

from memlens.formats import read, recognised
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError
from memlens.model.libraries import misjudged, parsed
from memlens.model.profile import Profile

EXAMPLE = Path(__file__).with_name("example.newpack")


def profile_of(path: Path, scratch: Path) -> Profile:
    """Read a file as Memlens does: by the pack that is installed."""
    with open_source(path, scratch, lambda _stage, _fraction: None) as source:
        assert recognised(source) == "newpack"
        profile = read(source, scratch, lambda _stage, _fraction: None)
    assert isinstance(profile, Profile)
    return profile


def test_the_example_is_read(tmp_path: Path) -> None:
    profile = profile_of(EXAMPLE, tmp_path)
    assert [column.tolist() for column in profile.values] == [[4194304, 1048576], [64, 4]]
    assert [(frame.function, frame.line) for frame in profile.frames.frames[:2]] == [
        ("load", 31),
        ("main", 7),
    ]


@pytest.mark.parametrize("line", ["", "1 2", "x 2 f a.x:1", "1 2 f", "1 2 f a.x:", f"{1 << 70} 1 f a.x:1"])
def test_damage_is_an_error(line: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.newpack"
    path.write_text(f"newpack 1\n{line}\n")
    with pytest.raises(DamagedSnapshotError):
        profile_of(path, tmp_path)


def test_the_rules_name_their_examples() -> None:
    rules = parsed(resources.files("memlens_newpack").joinpath("libraries/newpack.toml").read_text("utf-8"))
    assert [misjudged(rule) for rule in rules] == [[]] * len(rules)
