"""pygls is what server/transport.py takes it for, and no other file of the server uses more than its interface."""

import ast
import hashlib
import inspect
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import pytest
from pygls.io_ import StdoutWriter, run_async
from pygls.protocol import LanguageServerProtocol
from pygls.server import JsonRPCServer
from tests.python.conftest import ROOT

SERVER = ROOT / "pyserver" / "memlens" / "server"
INTERFACE = {"pygls.lsp.server.LanguageServer", "pygls.uris"}
ERRORS = "pygls.exceptions."
RELIED_ON: list[tuple[Callable[..., Any], str]] = [
    (LanguageServerProtocol.__init__, "6a96fc574b52"),
    (LanguageServerProtocol.structure_message, "ac66b961a32a"),
    (LanguageServerProtocol.handle_message, "d46f22474082"),
    (LanguageServerProtocol._send_response, "b799bb966ca7"),
    (LanguageServerProtocol._send_data, "40e0a5bb7095"),
    (LanguageServerProtocol.set_writer, "3a3f91c8c4e0"),
    (LanguageServerProtocol.send_request, "0e4491683e0f"),
    (JsonRPCServer.__init__, "1494d8d837c6"),
    (JsonRPCServer.start_io, "ebeccd50e33f"),
    (JsonRPCServer.shutdown, "2900e9bb22f7"),
    (JsonRPCServer._report_server_error, "9be366f23365"),
    (StdoutWriter.write, "fde22a7cd31f"),
    (run_async, "f488270939ce"),
]
"""Functions that transport.py replaces, calls without their being an interface, or writes past; a digest of each."""


def test_pygls_is_pinned_to_the_installed_version() -> None:
    project = tomllib.loads((ROOT / "pyserver" / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"pygls=={version('pygls')}" in project["dependencies"]


@pytest.mark.parametrize(("part", "digest"), RELIED_ON, ids=[part.__qualname__ for part, _ in RELIED_ON])
def test_parts_that_are_no_interface_are_as_they_were(part: Callable[..., Any], digest: str) -> None:
    """After an upgrade: compare the function with what transport.py does, mend that, and write down the new digest."""
    assert hashlib.sha256(inspect.getsource(part).encode()).hexdigest()[:12] == digest


@pytest.mark.slow
def test_types_are_imported_without_methods_that_the_server_never_calls() -> None:
    """Whatever imports LSP's types first decides how long it takes."""
    program = (
        "import attrs, memlens.server.app, lsprotocol.types as types\n"
        "print('__slots__' in vars(types.Hover), '__eq__' in vars(types.Hover), attrs.define.__module__)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False", "attr._next_gen"]


def test_no_other_file_uses_more_than_the_interface() -> None:
    used = {
        (path.relative_to(SERVER).as_posix(), name)
        for path in SERVER.rglob("*.py")
        for name in _beyond_interface(ast.parse(path.read_text("utf-8")))
    }
    files = {file for file, _ in used}
    assert files == {"transport.py"}
    # the test sees private parts as well as imports
    assert {name for _, name in used} >= {"self._result_types", "pygls.io_.run_async"}


def _beyond_interface(tree: ast.Module) -> Iterator[str]:
    # a private name of an object that its class, in this file, doesn't define
    own = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    own |= {"_replace", "_exit"}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == "pygls":
                names = (f"{module}.{alias.name}" for alias in node.names)
                yield from (name for name in names if name not in INTERFACE and not name.startswith(ERRORS))
            case ast.Import() if any(alias.name.partition(".")[0] == "pygls" for alias in node.names):
                yield ast.unparse(node)
            case ast.Attribute(attr=attr) if attr[0] == "_" and attr[:2] != "__" and attr not in own:
                yield ast.unparse(node)
