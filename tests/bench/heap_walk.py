"""A walk through a heap dump, with the time of each answer: what the view requests from the overview to the line that
allocated an object.

``python tests/bench/heap_walk.py FILE [CACHE]`` opens the dump in a server, goes from its findings to their objects,
the paths that keep these alive, types, instances, filters and the search. For each request it prints how often it was
sent, and the server's CPU time and the wall time of the longest answer in milliseconds.
"""

import random
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.python.lsp_client import LspClient  # noqa: E402

WIDTH_PX = 1_200
LARGEST = 20
"""How many of the largest types are opened, and how many instances of each are explained."""
SETTLED_S = 5.0
LIMIT_S = 600.0


class Walk:
    """Sends requests to a server, and records how long their answers took."""

    def __init__(self, client: LspClient) -> None:
        self.client = client
        self.took: dict[str, list[tuple[float, float]]] = {}
        self.of: dict[str, Any] = {}

    def cpu_ms(self) -> float:
        """CPU time of the server's process so far, including that of threads that have ended."""
        # Linux numbers the clock of a process so: its id inverted, above three bits that say what is counted
        return time.clock_gettime(~self.client.pid << 3 | 2) * 1000

    def ask(self, name: str, method: str, **params: Any) -> Any:
        """The answer to a question."""
        before, began = self.cpu_ms(), time.perf_counter()
        answer = self.client.request(f"memlens/{method}", {**self.of, **params}, LIMIT_S)
        wall = (time.perf_counter() - began) * 1000
        self.took.setdefault(name, []).append((wall, self.cpu_ms() - before))
        return answer


def walk(path: Path, cache: Path, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of each answer, wall and CPU time, by request in the order of the walk."""
    rng = random.Random(16)
    with LspClient() as client:
        client.start(folder, {"cache_directory": str(cache)})
        steps = Walk(client)
        opened = steps.ask("open", "open", path=str(path), view="bench")
        steps.of = {"snapshot": opened["snapshot"]}
        steps.ask("headline", "headline")
        found = steps.ask("findings", "findings", limit=20)["findings"]
        steps.ask("overview", "heapOverview")
        _tables(steps)
        # work that continues after the first answers would be counted as theirs
        time.sleep(SETTLED_S)
        objects = [each["objects"]["number"] for each in found if each["objects"]["kind"] == "object"]
        objects += _types(steps)
        objects += [rng.randrange(opened["info"]["objects"]) for _ in range(3 * LARGEST)]
        for number in objects:
            _object(steps, number)
        _filters(steps)
    return steps.took


def _tables(steps: Walk) -> None:
    page = {"offset": 0, "limit": 100}
    listed = {"filter": "", "reverse": False, "by": "package", "order": "retained", **page}
    picture = {"first_depth": 0, "rows": 40, "width_px": WIDTH_PX, "kind": None}
    for name in ("first icicle", "icicle"):
        steps.ask(name, "heapPicture", **picture, x0=0, x1=1, search="", by="type")
    steps.ask("icicle, zoomed", "heapPicture", **picture, x0=0.1, x1=0.3, search="", by="type")
    steps.ask("icicle, searched", "heapPicture", **picture, x0=0, x1=1, search="type:Array", by="type")
    steps.ask("icicle by package", "heapPicture", **picture, x0=0, x1=1, search="", by="package")
    for name in ("first shortest paths", "shortest paths"):
        steps.ask(name, "heapPicture", **picture, x0=0, x1=1, search="", by="type", tree="paths")
    steps.ask("types", "heapTypes", **listed, package=None)
    steps.ask("packages", "heapPackages", **listed)
    steps.ask("dominators", "heapDominated", object=None, filter="", **page)


def _types(steps: Walk) -> list[int]:
    """The largest types and groups, and some of their instances."""
    page = {"offset": 0, "limit": 100}
    rows = steps.ask(
        "types", "heapTypes", filter="", reverse=False, by="package", package=None, order="retained", **page
    )["rows"][:LARGEST]
    some: list[int] = []
    for row in rows:
        of = {"kind": row["number"], "group": None, "filter": ""}
        steps.ask("type", "heapType", kind=row["number"])
        instances = steps.ask("instances", "heapObjects", **of, order="retained", reverse=False, **page)
        chosen = [each["object"] for each in instances["rows"][:: max(1, len(instances["rows"]) // 3)]]
        # what all instances refer to, as their class, is what most objects refer to
        shared = steps.ask(
            "references of one", "heapReferences", object=chosen[0], direction="outgoing", **page
        )
        some += [*chosen, *(each["object"]["object"] for each in shared["rows"][:5])]
        steps.ask("merged paths", "heapMergedPaths", **of, through=[], without=[], node=0, **page)
        steps.ask(
            "merged paths, weak ones too",
            "heapMergedPaths",
            **of,
            through=["weak"],
            without=[],
            node=0,
            **page,
        )
        steps.ask("retained by a type", "heapRetained", **of)
    for node in range(LARGEST):
        steps.ask("group", "heapGroup", group=node, filter="")
    return some


def _object(steps: Walk, number: int) -> None:
    page = {"offset": 0, "limit": 100}
    steps.ask("object", "heapObject", object=number, by="type")
    for direction in ("outgoing", "incoming"):
        steps.ask(f"{direction} references", "heapReferences", object=number, direction=direction, **page)
    steps.ask("dominated", "heapDominated", object=number, filter="", **page)
    shown: dict[str, Any] = {"object": number, "without": [], "most": 5, "soon": True}
    steps.ask("paths to roots", "heapPaths", through=[], **shown)
    steps.ask("paths, weak ones too", "heapPaths", through=["weak"], **shown)


def _filters(steps: Walk) -> None:
    page = {"offset": 0, "limit": 1}
    for text in (
        "type:Array", "retained>1MiB", "shallow>1KiB -type:string", "distance<5", "unreachable", "held-by:Map",
        "retained-by:Map", "field:map", "name:a", 'string:"error"', "kind:closure", "Array",
    ):  # fmt: skip
        for which in ("first", "again"):
            steps.ask(
                f"filter {text}, {which}", "heapTypes",
                filter=text, order="count", reverse=False, by="package", package=None, **page,
            )  # fmt: skip


def main() -> None:
    """Print the longest answers."""
    path = Path(sys.argv[1])
    cache = Path(sys.argv[2]) if len(sys.argv) > 2 else path.parent / "heap-cache"
    for name, took in walk(path, cache, path.parent).items():
        walls, cpus = ([each[which] for each in took] for which in (0, 1))
        print(f"{name:40} {len(took):4}x  wall {max(walls):8.1f} ms  cpu {max(cpus):8.1f} ms")


if __name__ == "__main__":
    main()
