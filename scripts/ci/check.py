"""The GitHub action's own step: runs ``memlens check`` and hands the results to GitHub.

What is printed is no command to GitHub, whatever names the snapshot has. The lines of source become annotations, which
a pull request shows without any permission. Needs the standard library alone.
"""

import glob
import json
import os
import secrets
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote, unquote

FORMS = {"sarif": "memlens.sarif", "junit": "memlens.xml", "markdown": "memlens.md"}
MOST_ANNOTATIONS = 10
"""GitHub shows no more of a step."""
MOST_SUMMARY_BYTES = 1_000_000


def main() -> int:
    """Run the check and return its exit status."""
    os.chdir(os.environ["MEMLENS_FOLDER"] or ".")
    out = Path(tempfile.mkdtemp(prefix="memlens-", dir=os.environ.get("RUNNER_TEMP")))
    written = {form: out / name for form, name in FORMS.items()}
    command = ["memlens", "check", *files(), *shlex.split(os.environ["MEMLENS_LIMITS"])]
    if against := os.environ["MEMLENS_AGAINST"].strip():
        command += ["--against", against]
    for form, path in written.items():
        command += [f"--{form}", str(path)]
    # until the token comes again GitHub takes nothing that is printed for a command
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    status = subprocess.run(command, check=False).returncode
    print(f"\n::{token}::", flush=True)
    if written["sarif"].exists():
        log = from_root(json.loads(written["sarif"].read_bytes()))
        written["sarif"].write_text(json.dumps(log), "utf-8")
        annotate(log)
    append("GITHUB_OUTPUT", "".join(f"{form}={path}\n" for form, path in written.items() if path.exists()))
    if written["markdown"].exists() and written["markdown"].stat().st_size < MOST_SUMMARY_BYTES:
        append("GITHUB_STEP_SUMMARY", written["markdown"].read_text("utf-8"))
    return status


def files() -> list[str]:
    """The files that the lines of the input name; a pattern that nothing matches stays, as memlens then says so."""
    lines = [line.strip() for line in os.environ["MEMLENS_FILES"].splitlines() if line.strip()]
    # Path.glob takes no absolute patterns
    return [file for line in lines for file in sorted(glob.glob(line, recursive=True)) or [line]]  # noqa: PTH207


def from_root(log: dict) -> dict:
    """A log in which files are named from the root of the repository, as GitHub does, and not from the folder."""
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()).resolve()
    folder = Path.cwd().resolve()
    if folder != root and folder.is_relative_to(root):
        above = quote(folder.relative_to(root).as_posix())
        for result in log["runs"][0]["results"]:
            artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
            if "uriBaseId" in artifact:
                artifact["uri"] = f"{above}/{artifact['uri']}"
    return log


def annotate(log: dict) -> None:
    """Print GitHub's command for an annotation at each line, the first ones alone."""
    (run,) = log["runs"]
    problems = run["invocations"][0]["toolExecutionNotifications"]
    for each in (*run["results"], *problems)[:MOST_ANNOTATIONS]:
        (place,) = each.get("locations", [{}])
        physical = place.get("physicalLocation", {})
        where = {"title": f"Memlens: {each['ruleId']}" if "ruleId" in each else "Memlens: not checked"}
        if "uriBaseId" in physical.get("artifactLocation", {}):
            where["file"] = unquote(physical["artifactLocation"]["uri"])
            where["line"] = str(physical.get("region", {}).get("startLine", 1))
        properties = ",".join(f"{key}={escaped(value, ':,')}" for key, value in where.items())
        print(f"::error {properties}::{escaped(each['message']['text'])}")


def escaped(text: str, more: str = "") -> str:
    """A text in one of GitHub's commands: https://github.com/actions/toolkit, packages/core/src/command.ts."""
    return "".join(f"%{ord(char):02X}" if char in "%\r\n" + more else char for char in text)


def append(variable: str, text: str) -> None:
    """Add text to a file that GitHub reads, where there is one."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main())
