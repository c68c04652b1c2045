"""From objects and types of heap dumps to lines here, as the editor asks the server."""

from pathlib import Path
from typing import Any

import pytest
from tests.python import hprof_files, ruby_files
from tests.python.graph_reading import load, type_names
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view

pytest_plugins = ("tests.python.server_fixtures",)


def source(server: LspClient, snapshot: str, **what: int) -> Any:
    return server.request("memlens/objectSource", {"snapshot": snapshot, **what})


def test_the_line_that_allocated_an_object(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    (workspace / "app").mkdir()
    program = workspace / "app" / "cache.rb"
    program.write_text("\n" * 20)
    dump = tmp_path / "dump.json"
    dump.write_bytes(ruby_files.small())
    snapshot = open_view(server, dump)["snapshot"]
    found = source(server, snapshot, object=3)
    assert (found["relation"], found["path"], found["line"]) == ("allocation", str(program), 12)
    assert (found["file"], found["type"]) == ("app/cache.rb", "App::Cache")
    # a class of which nothing is known but its name
    found = source(server, snapshot, object=0)
    assert (found["relation"], found["path"], found["candidates"], found["how"]) == ("type", None, [], "none")
    for wrong in ({"object": 99}, {"type": 99}, {}):
        with pytest.raises(RpcError):
            source(server, snapshot, **wrong)


def test_a_class_of_java_by_its_name(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    dump = tmp_path / "dump.hprof"
    dump.write_bytes(hprof_files.small().end())
    opened = open_view(server, dump)["snapshot"]
    names = type_names(load(dump))
    item, name = next((item, name) for item, name in enumerate(names) if "." in name and "[" not in name)
    package, _, own = name.rpartition(".")
    outer = own.split("$", 1)[0]
    file = workspace.joinpath("src", *package.split("."), f"{outer}.java")
    file.parent.mkdir(parents=True)
    file.write_text(f"package {package};\n\n// the class\npublic class {outer} {{\n}}\n")
    found = source(server, opened, object=item)
    assert (found["relation"], found["path"], found["line"], found["type"]) == ("type", str(file), 4, name)
