"""The GitHub action and the GitLab job, run step by step as their systems do, in a scratch project."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import ROOT, event, frame
from tests.python.hostile_names import NAMES
from tests.python.test_check import MIB, events_of_steps, saved, valid_sarif

CI = ROOT / "scripts" / "ci"
pytestmark = pytest.mark.slow


@cache
def parsed(file: Path) -> Any:
    """A file of YAML, by the library that the build has."""
    program = (
        "process.stdout.write(JSON.stringify(require('yaml').parse(require('fs').readFileSync(0, 'utf8'))))"
    )
    done = subprocess.run(
        ["node", "-e", program], input=file.read_bytes(), capture_output=True, cwd=ROOT, check=True
    )
    return json.loads(done.stdout)


class Ran:
    """What a run left."""

    def __init__(self, status: int, printed: str, folder: Path) -> None:
        self.status, self.printed = status, printed
        outputs = (folder / "output").read_text("utf-8") if (folder / "output").exists() else ""
        self.outputs = dict(line.split("=", 1) for line in outputs.splitlines())
        summary = folder / "summary"
        self.summary = summary.read_text("utf-8") if summary.exists() else ""
        stopped = re.search(r"^::stop-commands::(\w+)\n(.*)^::\1::\n(.*)", printed, re.MULTILINE | re.DOTALL)
        self.said, self.commands = (stopped[2], stopped[3]) if stopped else ("", printed)


def run_action(project: Path, **inputs: str) -> Ran:
    """Run the steps of the action as GitHub does, with its variables and the inputs."""
    action, folder = parsed(CI / "action.yml"), project.parent
    given = {name: str(each.get("default", "")) for name, each in action["inputs"].items()} | inputs
    assert {name for name, each in action["inputs"].items() if each.get("required")} <= inputs.keys()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    system = {
        **os.environ, "PATH": path, "GITHUB_ACTION_PATH": str(CI), "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_WORKSPACE": str(project), "RUNNER_TEMP": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }  # fmt: skip
    printed = ""
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        # whatever is put into a command's text is code
        assert "${{" not in step["run"]
        values = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], value)
            for name, value in step["env"].items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=project, env={**system, **values}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        printed += done.stdout + done.stderr
        if done.returncode:
            break
    return Ran(done.returncode, printed, folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that keeps 20 MiB more in each step, and a snapshot of it."""
    folder = tmp_path / "repo" / "my project"
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "loop.py").write_text("x\n" * 20, "utf-8")
    saved(folder / "run.pickle", events_of_steps(6, 20 * MIB, str(folder / "app" / "loop.py")))
    return folder


def test_the_action_fails_at_the_line_that_grew(project: Path) -> None:
    kept = run_action(project, files="run.pickle", limits="--max-peak 1GiB")
    assert kept.status == 0, kept.printed
    assert kept.commands == ""
    assert "1 limit kept" in kept.summary
    found = run_action(
        project, files="*.pickle", limits='--max-growth-per-step 0 --max-retained "type:a b" 5'
    )
    assert found.status == 1
    error, unchecked = found.commands.splitlines()
    assert error.startswith(
        "::error title=Memlens%3A max-growth-per-step,file=app/loop.py,line=7::20 MiB in "
    )
    assert unchecked.startswith("::error title=Memlens%3A not checked::")
    (result,) = valid_sarif(Path(found.outputs["sarif"]))
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "app/loop.py"
    assert Path(found.outputs["junit"]).read_bytes().startswith(b"<?xml")
    assert "1 exceeded, 1 not checked of 2 limits" in found.summary


def test_the_action_takes_limits_from_the_project_and_says_what_is_missing(project: Path) -> None:
    without = run_action(project, files="run.pickle")
    assert "There is no limit to check" in without.said + without.printed
    (project / "memlens.toml").write_text('[check]\nmax-peak = "+5%"\n', "utf-8")
    assert run_action(project, files="run.pickle").status == 2
    assert run_action(project, files="run.pickle", against="run.pickle").status == 0
    missing = run_action(project, files="none/*.pickle\nrun.pickle", against="run.pickle")
    assert missing.status == 2
    assert "none/*.pickle" in missing.summary.replace("\\", "")


def test_files_are_named_from_the_root_whatever_the_folder(project: Path) -> None:
    root = project.parent
    found = run_action(root, files="run.pickle", limits="--max-peak 1 --top 1", folder="my project")
    assert found.status == 1, found.printed
    assert ",file=my project/app/loop.py,line=7::" in found.commands
    (result,) = valid_sarif(Path(found.outputs["sarif"]))
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20project/app/loop.py"


def test_no_name_is_a_command_to_github(project: Path) -> None:
    names = [*NAMES, "::add-mask::x", "a ::error::x", "%0A::error::x", "x,line=1::y"]
    trace = [
        event(
            "alloc",
            number + 1,
            MIB,
            frame(f"app/{name}"[:200].encode("utf-8", "replace").decode(), 3, name),
            time_us=1,
        )
        for number, name in enumerate(name[:200].encode("utf-8", "replace").decode() for name in names)
    ]
    saved(project / "run.pickle", {"segments": [], "device_traces": [trace]})
    found = run_action(project, files="run.pickle", limits="--max-peak 1 --top 200")
    assert found.status == 1
    lines = found.commands.splitlines()
    assert 0 < len(lines) <= 10
    for line in lines:
        assert re.fullmatch(r"::error title=Memlens%3A max-peak(,file=[^:,]*,line=\d+)?::.*", line), line
    # inputs are no code either
    run_action(
        project,
        files="$(touch made)\n`touch made`",
        limits="--max-peak '$(touch made)'",
        against=";touch made",
    )
    assert not (project / "made").exists()


def test_the_job_of_gitlab(project: Path, tmp_path: Path) -> None:
    job = parsed(CI / "gitlab.yml")["memory"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    values = {**job["variables"], "MEMLENS_FILE": "run.pickle", "MEMLENS_LIMITS": "--max-growth-per-step 0"}
    for _ in range(2):
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])],
            cwd=project, env={**os.environ, "PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache"), **values},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        for name in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
            assert (project / name).stat().st_size
