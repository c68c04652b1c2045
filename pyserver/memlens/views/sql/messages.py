"""What a server and the process that answers its queries write to each other: a length of four bytes, then msgpack."""

from typing import BinaryIO, TypeAlias

import msgspec
from msgspec import Struct

from memlens.errors import Problem
from memlens.store.tables.schema import Part
from memlens.views.sql.pages import SqlAnswer, SqlSort

LENGTH_BYTES = 4


class AskNeeds(Struct, frozen=True, tag="needs"):
    """Asks which parts of the tables a query reads."""

    query: str
    sort: SqlSort | None = None


class AskPage(Struct, frozen=True, tag="page"):
    """Asks for rows of a query, which may read the tables of ``parts``: they exist."""

    parts: tuple[Part, ...]
    query: str
    offset: int
    limit: int
    sort: SqlSort | None = None


class AskObjects(Struct, frozen=True, tag="objects"):
    """Asks which objects a query's rows name."""

    parts: tuple[Part, ...]
    query: str


class Stop(Struct, frozen=True, tag="stop"):
    """End the query that runs; it is answered as any other."""


Question: TypeAlias = AskNeeds | AskPage | AskObjects


class Needs(Struct, frozen=True, tag="needs"):
    """The parts that a query reads."""

    parts: tuple[Part, ...]


class Page(Struct, frozen=True, tag="page"):
    """Rows of a query."""

    answer: SqlAnswer


class Objects(Struct, frozen=True, tag="objects"):
    """A bit per object, the lowest bit of each byte first."""

    count: int
    bits: bytes


class Failed(Struct, frozen=True, tag="failed"):
    """Why there is no answer."""

    problem: Problem


Answer: TypeAlias = Needs | Page | Objects | Failed

decode_answer = msgspec.msgpack.Decoder(Answer).decode
_decode_asked = msgspec.msgpack.Decoder(Question | Stop).decode


def encoded(message: Question | Stop | Answer) -> bytes:
    """A message with its length."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(LENGTH_BYTES) + body


def read_asked(stream: BinaryIO) -> Question | Stop | None:
    """The next message of the server; None at the end."""
    length = stream.read(LENGTH_BYTES)
    body = stream.read(int.from_bytes(length)) if len(length) == LENGTH_BYTES else b""
    return _decode_asked(body) if body else None
