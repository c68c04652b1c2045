"""The skill for language models: where it is offered, and a client that does only what it says.

The client asks for the summary and, unless that names what fills the memory, for the largest. Files and right answers
are those of ``tests/judgement``, written by hand.
"""

import json
import re
import tomllib
from pathlib import Path

import pytest
from tests.python.conftest import DATA, ROOT
from tests.python.mcp_client import McpClient

from memlens.server import prompts
from memlens.server.tools.table import TOOLS

SKILL = ROOT / "pyserver/memlens/server/skills/memory-snapshots/SKILL.md"
JUDGED = ROOT / "tests" / "judgement"
FILES = 20
MOST_CALLS = 2


def test_its_words_are_those_of_the_tools() -> None:
    text = SKILL.read_text("utf-8")
    fields, _, steps = text.removeprefix("---\n").partition("\n---\n")
    # what the format asks of it: https://agentskills.io/specification
    assert re.match(r"name: [a-z]+(-[a-z]+)*\ndescription: \S", fields)
    assert fields.splitlines()[0] == f"name: {SKILL.parent.name}"
    assert len(fields.partition("description: ")[2]) <= 1024
    assert {*re.findall(r"memlens_\w+", steps)} <= {*TOOLS}
    manifest = json.loads((ROOT / "package.json").read_text("utf-8"))
    assert [ROOT / each["path"] for each in manifest["contributes"]["chatSkills"]] == [SKILL]


def test_it_is_a_prompt(tmp_path: Path) -> None:
    with McpClient(tmp_path) as client:
        (listed,) = client.request("prompts/list")["result"]["prompts"]
        assert listed["name"] == prompts.SKILL
        asked = {"name": listed["name"], "arguments": {"path": "train.pickle"}}
        (message,) = client.request("prompts/get", asked)["result"]["messages"]
        text = message["content"]["text"]
        assert text.startswith("# From")
        assert text.endswith("The snapshot: train.pickle\n")
        assert client.request("prompts/get", {"name": "another"})["error"]["code"] == -32602


def judged() -> list[tuple[Path, list[str]]]:
    """Small files with what an answer must have, patterns, as many of each kind as of another."""
    found: list[tuple[Path, list[str]]] = []
    for table in ("torch", "profiles", "heaps"):
        cases = tomllib.loads((JUDGED / f"{table}.toml").read_text("utf-8"))["files"]
        rows = [
            (DATA / case["file"], case.get("names") or [re.escape(case["held"][0][0])])
            for case in cases
            if case.get("names") or case.get("held")
        ]
        there = sorted((row for row in rows if row[0].is_file()), key=lambda row: row[0].stat().st_size)
        found += there[: FILES // 3 + (table == "heaps") * (FILES % 3)]
    return found


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the real files")
def test_a_client_that_follows_it_finds_what_fills_the_memory(tmp_path: Path) -> None:
    files = judged()
    assert len(files) == FILES
    wrong, calls, size = [], 0, 0
    with McpClient(tmp_path, "--root", str(DATA)) as client:
        for path, patterns in files:
            summary = client.call("memlens_summary", path=str(path))
            read, of_file = json.dumps(summary, ensure_ascii=False), 1
            if not all(re.search(pattern, read) for pattern in patterns):
                more = client.call("memlens_top", path=str(path))
                read, of_file = read + json.dumps(more, ensure_ascii=False), 2
            calls, size = calls + of_file, size + len(read)
            if not all(re.search(pattern, read) for pattern in patterns):
                wrong.append((path.name, patterns))
    print(f"{FILES - len(wrong)} of {FILES} right, {calls} calls, {size:,} characters")
    assert wrong == []
    assert calls <= FILES * MOST_CALLS
    assert size <= FILES * 24_000
