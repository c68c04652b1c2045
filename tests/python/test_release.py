"""What ``npm run release`` refuses, in a repository of its own."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = (
    "package.json",
    "package-lock.json",
    "pyserver/pyproject.toml",
    "CHANGELOG.md",
    "scripts/release.mjs",
    "scripts/lib/address.mjs",
    "scripts/lib/paths.mjs",
    "scripts/lib/steps.mjs",
)


def run(*command: str, cwd: Path, code: int = 0) -> str:
    # a workflow that runs the tests has variables that name its own repository
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def git(repository: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "tag.gpgSign=false"]
    return run("git", *who, *arguments, cwd=repository)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose files are ready to be version 1.10.0."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    for name in ("package.json", "package-lock.json"):
        written = json.loads((tmp_path / name).read_text("utf-8"))
        written["version"] = "1.10.0"
        if "repository" in written:
            written["repository"]["url"] = "git+https://github.com/some/one.git"
        if "packages" in written:
            written["packages"][""]["version"] = "1.10.0"
        (tmp_path / name).write_text(json.dumps(written), "utf-8")
    (tmp_path / "pyserver" / "pyproject.toml").write_text('[project]\nname = "memlens"\nversion = "1.10.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n## [1.10.0] - 2026-11-23\n\n- News.\n\n## [1.9.0] - 2026-10-01\n"
    )
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "Test")
    git(tmp_path, "config", "user.email", "test@example.org")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "All")
    git(tmp_path, "tag", "v1.9.0")
    return tmp_path


def release(repository: Path, *arguments: str, code: int = 0) -> str:
    return run("node", "scripts/release.mjs", *arguments, cwd=repository, code=code)


def test_this_repository_has_one_version() -> None:
    assert release(ROOT, "--check").endswith(" is consistent\n")


@pytest.mark.slow
def test_a_ready_release_is_tagged(repository: Path) -> None:
    assert "v1.10.0 is consistent" in release(repository, "--tag", "v1.10.0")
    assert "made the tag v1.10.0" in release(repository)
    assert git(repository, "cat-file", "-t", "v1.10.0") == "tag\n"
    assert "The tag v1.10.0 is there already." in release(repository, code=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "refused"),
    [
        ("package-lock.json", '"version": "1.10.0"', '"version": "1.9.9"', "package-lock.json has version 1.9.9"),
        ("pyserver/pyproject.toml", "1.10.0", "1.9.9", "pyproject.toml has version 1.9.9; package.json has 1.10.0."),
        ("package.json", '"version": "1.10.0"', '"version": "1.10.0-rc.1"', "1.10.0-rc.1 should be three numbers."),
        ("CHANGELOG.md", "[1.10.0]", "[1.10.05]", "newest release of CHANGELOG.md has version 1.10.05"),
        ("CHANGELOG.md", "- News.\n", "", 'CHANGELOG.md has nothing under "## [1.10.0] - 2026-11-23".'),
    ],
)  # fmt: skip
def test_files_with_different_versions_are_refused(
    repository: Path, file: str, old: str, new: str, refused: str
) -> None:
    path = repository / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    assert refused in release(repository, "--check", code=1)


@pytest.mark.slow
def test_a_release_is_dated_committed_and_newer_than_the_others(repository: Path) -> None:
    assert "The tag is v1.11.0; that of version 1.10.0 is v1.10.0." in release(
        repository, "--tag", "v1.11.0", code=1
    )
    changelog = repository / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## [1.10.0] - 2026-11-23\n\n", ""))
    assert "v1.10.0 is consistent" in release(repository, "--check")
    said = release(repository, "--tag", "v1.10.0", code=1)
    assert 'they belong under "## [1.10.0] - " and the date' in said
    git(repository, "tag", "v2.0.0")
    refused = release(repository, code=1)
    for sentence in (
        "and the date, YYYY-MM-DD.",
        "There are uncommitted changes.",
        "The tag v2.0.0 is newer than 1.10.0.",
    ):
        assert sentence in refused
    assert git(repository, "tag", "--list").split() == ["v1.9.0", "v2.0.0"]
