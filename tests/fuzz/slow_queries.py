"""``npm run fuzz -- --queries``: how long it takes until a query has ended after it was cancelled, at worst.

    npm run fuzz -- --queries [--seconds 60] [--seed 1]

Queries are made of what SQLite does in one step, where it notices no interrupt: functions of long texts, many in a row,
sorts, and sums over windows. Each is asked in a process as the server starts it, and cancelled while it runs. The exit
status is 1 if one takes more than 2 seconds.
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from memlens.errors import MemlensError
from memlens.ingest import ingest
from memlens.server.sessions.query_process import QueryProcess
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.store.tables.fill import fill

SEED = Path(__file__).parent / "corpus" / "file" / "small.hprof"
MOST_S = 2.0

_ROWS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT {rows})"


def long(letter: str, length: int) -> str:
    """The expression for a text of one letter."""
    return f"printf('%.{length}c', '{letter}')"


def trimming(length: int = 900_000, calls: int = 100) -> str:
    """Calls that take a minute each: every letter of one text is looked for in another."""
    return "SELECT " + ", ".join([f"trim({long('a', length)}, {long('b', 60_000)} || 'a')"] * calls)


def sorted_rows(rows: int = 8_000_000) -> str:
    """A sort of as many rows as memory allows, which is one step."""
    return f"{_ROWS.format(rows=rows)} SELECT x FROM c ORDER BY x * 7919 % 1000003, x"


class _Shapes:
    """Makes queries at random."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def query(self) -> str:
        choose = self._random.choice
        kind = choose(("row", "row", "rows", "sort", "window", "wide", "join"))
        if kind == "row":
            calls = self._random.choice((1, 10, 300))
            return "SELECT " + " || ".join([f"({self._call()})"] * min(calls, 190))[:90_000]
        rows = choose((10, 1_000, 1_000_000, 100_000_000))
        source = _ROWS.format(rows=rows)
        if kind == "rows":
            return f"{source} SELECT count({self._call()}) FROM c"
        if kind == "sort":
            key = choose(("x", "-x", "x % 1000", f"{long('a', 2_000)} || x", "random()"))
            collation = choose(("", " COLLATE NOCASE", " COLLATE RTRIM"))
            return f"{source} SELECT x FROM c ORDER BY {key}{collation}"
        if kind == "window":
            function = choose(
                ("median(x)", "group_concat(x)", "percentile(x, 50)", "sum(x)", "json_group_array(x)")
            )
            frame = choose(("", "ROWS BETWEEN 5000 PRECEDING AND CURRENT ROW", "ORDER BY x"))
            return f"{source} SELECT {function} OVER ({frame}) FROM c"
        if kind == "wide":
            return self._wide()
        return f"{source} SELECT count(*) FROM c AS a, c AS b, c AS d WHERE a.x * b.x = d.x + {self._random.random()}"

    def _wide(self) -> str:
        term = self._random.choice(("x = {n} OR x = -{n}", "x IN ({n}, -{n})", "x BETWEEN {n} AND -{n}"))
        terms = ") AND (".join(term.format(n=n) for n in range(self._random.choice((100, 190))))
        return f"{_ROWS.format(rows=10_000_000)} SELECT count(*) FROM c WHERE ({terms})"

    def _call(self) -> str:
        length = self._random.choice((1_000, 100_000, 900_000))
        half = length // 2
        some, other = long("a", length), f"{long('a', half)} || 'b'"
        return self._random.choice(
            (
                f"instr({some}, {other})", f"replace({some}, {other}, 'c')", f"trim({some}, {long('b', length)})",
                f"rtrim({some}, substr({long('b', length)} || 'a', 2))", f"{some} LIKE '%{'a' * 400}b'",
                f"{some} LIKE '{'%a' * 200}b'", f"{some} GLOB '{'*a' * 200}b'", f"{some} = {other} COLLATE NOCASE",
                f"hex({long('a', half)})", f"length(json_quote({some}))", f"json_array_length('[' || {some} || ']')",
                f"{some} REGEXP '(a+)+b'", f"upper({some}) = lower({some})", f"concat({other}, {other})",
                f"strftime({long('%', half)}, 'now')", f"printf('%{length}d', 5)", f"quote({some})",
                f"group_concat({some})", f"CAST({long('9', length)} AS NUMERIC)",
                f"json_extract('{{\"a\":' || json_quote({some}) || '}}', '$.a')",
            )
        )  # fmt: skip


class Timed(NamedTuple):
    """How long it took from the cancellation until nothing of a query was left."""

    seconds: float
    query: str
    was_killed: bool


async def cancelled(archive: Path, query: str, after_s: float) -> Timed | None:
    """Ask a query, and cancel it after a while; None if it has ended by then."""
    process = await QueryProcess.start(archive, [])
    try:
        asked = asyncio.ensure_future(process.page(("base",), query, 0, 10, None))
        done, _ = await asyncio.wait([asked], timeout=after_s)
        if done:
            with contextlib.suppress(MemlensError):
                asked.result()
            return None
        began = time.perf_counter()
        asked.cancel()
        await asyncio.wait([asked])
        was_killed = not process.is_usable
        if was_killed:
            await process.ended()
        else:
            await process.page(("base",), "SELECT 1", 0, 1, None)
        return Timed(time.perf_counter() - began, query, was_killed)
    finally:
        process.kill()
        await process.ended()


def main(arguments: list[str]) -> int:
    """Ask queries for a time, and print the worst."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        archive = ingest(SEED, cache, lambda *_: None)
        with contextlib.closing(Snapshot.open(archive)) as snapshot:
            fill(snapshot, lambda *_: None, ["base"])
        worst = asyncio.run(_worst(archive, options.seconds, options.seed))
    return worst > MOST_S


async def _worst(archive: Path, seconds: int, seed: int) -> float:
    shapes = _Shapes(seed)
    queries = [trimming(), sorted_rows()]
    until = time.monotonic() + seconds
    found: list[Timed] = []
    after_s = itertools.cycle((0.5, 1.0, 4.0))
    asked = 0
    while time.monotonic() < until or queries:
        query = queries.pop() if queries else shapes.query()
        asked += 1
        timed = await cancelled(archive, query, next(after_s))
        if timed is not None:
            found.append(timed)
    found.sort(reverse=True)
    killed = sum(each.was_killed for each in found)
    print(f"{asked} queries, {len(found)} cancelled while they ran, {killed} of them by ending their process")
    for each in found[:5]:
        how = "process ended" if each.was_killed else "interrupted"
        print(f"{each.seconds:6.2f} s  {how}  {each.query[:100]}")
    return found[0].seconds if found else 0.0
