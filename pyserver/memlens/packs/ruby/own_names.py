"""Decides which names in a heap dump of Ruby are the runtime's or gems', and which the program's own.

A class or a method is a gem's by its file in the dump, if allocations were traced when it was created.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import msgspec
from typing_extensions import Buffer

from memlens.formats.redaction.own_names import OwnNames
from memlens.model.libraries import library_of

_TEXT = rb'"([^"\\\n]*)"'
_METHOD = re.compile(rb'"file": ?%b[^\n]*?"method": ?%b' % (_TEXT, _TEXT))
_CLASS = re.compile(
    rb'"type": ?"(?:CLASS|MODULE|ICLASS)"[^\n]*?"name": ?%b[^\n]*?"file": ?%b' % (_TEXT, _TEXT)
)
_WORD = re.compile(r"[^\W\d]\w*")
_ERRNO = re.compile(r"E[A-Z0-9]+")


def own_names(dump: Buffer) -> OwnNames:
    """The replacements of the program's names."""
    theirs, own = set[str](), set[str]()
    for name, is_theirs in set(_with_files(dump)):
        (theirs if is_theirs else own).update(_WORD.findall(name.decode("utf-8", "replace")))
    words = _words()
    kept = words["classes"] | words["methods"] | words["types"] | words["paths"]
    return OwnNames(kept, (theirs - own) | {"gems"}, is_kept=_ERRNO.fullmatch)


def in_json(own: OwnNames) -> Callable[[bytes], bytes]:
    """The replacements of names in their JSON form, without quotes."""
    words = _words()

    @cache
    def renamed(name: bytes) -> bytes:
        try:
            text = msgspec.json.decode(b'"%b"' % name, type=str)
        except ValueError:
            text = name.decode("utf-8", "replace")
        # "JSON::Ext::Parser", and of data "JSON/Generator/State"
        is_rubys = re.split("::|/", text, maxsplit=1)[0] in words["classes"]
        return msgspec.json.encode(own(text, words["nested"] if is_rubys else ()))[1:-1]

    return renamed


@cache
def _words() -> dict[str, frozenset[str]]:
    """Words of the language, of its standard library, and of paths."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
    return {name: frozenset(words.split()) for name, words in table.items()}


def _with_files(dump: Buffer) -> Iterator[tuple[bytes, bool]]:
    """Names of methods and of classes that have a file, and whether that is a library's."""
    known = cache(lambda file: bool(library_of(file.decode("utf-8", "replace"))))
    for found in _METHOD.finditer(dump):
        yield found[2], known(found[1])
    for found in _CLASS.finditer(dump):
        yield found[1], known(found[2])
