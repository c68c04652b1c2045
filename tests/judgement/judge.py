"""Holds what Memlens concludes from real files to right answers that were written by hand: ``npm run judge``.

Each ``*.toml`` beside this has files, what their headline must say (``held``, or patterns: ``names``) and which rules
are right to find something (``says``), with a sentence of why; ``torch.toml`` and ``heaps.toml`` say more of it. Prints
what is wrong, how many first lines and findings are right, and how often each rule fires.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data"))

sys.path.insert(0, str(ROOT))

from tests.python.test_allocator import open_data  # noqa: E402

from memlens.errors import MemlensError  # noqa: E402
from memlens.ingest import ingest  # noqa: E402
from memlens.model.frames import USER  # noqa: E402
from memlens.packs.pytorch.ooms import marks, oom  # noqa: E402
from memlens.packs.pytorch.tests.reference_allocator import DeviceFullError, ReferenceAllocator  # noqa: E402
from memlens.store.files.cache import Cache  # noqa: E402
from memlens.store.snapshot import Snapshot  # noqa: E402
from memlens.units import MIB  # noqa: E402
from memlens.views.findings.headline import headline  # noqa: E402
from memlens.views.findings.table import findings  # noqa: E402

_LANGUAGES = {
    ".java": (
        ["java", "-XX:+UseSerialGC", "-Xmx64m", "-XX:+HeapDumpOnOutOfMemoryError", "-cp", "."], ".hprof",
    ),
    ".js": (["node"], ".heapsnapshot"),
    ".py": ([sys.executable], ".memlens-heap"),
    ".rb": (["ruby"], ".json"),
}  # fmt: skip
"""How programs are run, and how the names of their dumps end."""
WITHIN = 2.0
"""Percentage points that a share may differ from the right one."""
ADDS_UP = frozenset((
    "dominant_line", "dominant_category", "before_recording", "no_history", "one_site",
    "duplicate_strings", "duplicate_arrays", "equal_images", "empty_collections", "tiny_collections",
    "oversized_collections", "null_arrays", "zero_arrays", "hash_collisions", "boxed_numbers",
))  # fmt: skip
"""Rules that only say what has much, or what is wasted, which the tests of sums hold."""
_GREW = re.compile(r"(?:Grew most:|;)\s(?P<name>.+?)\s[\d.,]+\s(?:[KMGT]?i?B|\w+)(?=[;.])")
_HELD = re.compile(
    r"(?:Held by|Most in|in use:|;)\s(?P<name>.+?)\s(?P<size>[\d.,]+)(?:\s(?:[KMGT]?i?B|\w+))?\s"
    r"\((?P<share>under 1|\d+)%"
)


class Verdict(NamedTuple):
    """What is wrong with the first line and with the findings of a file; nothing if they are empty."""

    file: str
    first: list[str]
    wrong: list[str]
    missing: list[str]
    rules: Counter[str]
    headline: str
    model: str = ""
    firm: frozenset[str] = frozenset()
    """The rules that found something that isn't a note."""


def cases() -> Iterator[dict[str, Any]]:
    """The files with right answers that are at hand."""
    yield from _at_hand("files")


def _at_hand(kind: str) -> Iterator[dict[str, Any]]:
    for table in sorted(Path(__file__).parent.glob("*.toml")):
        for case in tomllib.loads(table.read_text("utf-8")).get(kind, []):
            case["path"] = next(
                (at for at in (DATA / case["file"], ROOT / case["file"]) if at.exists()), None
            )
            if case["path"] is not None:
                yield case


def programs(folder: Path) -> Iterator[dict[str, Any]]:
    """Small programs with right answers, each with a dump of its heap; those that this machine can run."""
    here = Path(__file__).parent
    table = tomllib.loads((here / "programs.toml").read_text("utf-8"))["programs"]
    for number, case in enumerate(table):
        source = here / "programs" / case["program"]
        command, ending = _LANGUAGES[source.suffix]
        if shutil.which(command[0]) is None:
            continue
        if source.suffix == ".java" and not (folder / "shop").exists():
            subprocess.run(["javac", "-g", "-d", folder, source], check=True)
        case["file"] = f"{case['program']}: {case['kind']}"
        case["path"] = folder / f"{number}{ending}"
        program = "shop.Leaks" if source.suffix == ".java" else source
        # one of them ends because it runs out of memory, and writes its dump then
        subprocess.run(
            [*command, program, case["kind"], case["path"]], check=False, capture_output=True, cwd=folder,
            timeout=120,
        )  # fmt: skip
        if not case["path"].exists():
            next(folder.glob("java_pid*.hprof")).rename(case["path"])
        yield case


def recordings(folder: Path) -> Iterator[dict[str, Any]]:
    """Programs that keep more and more, or don't, each with a recording of some seconds; none without a JDK."""
    if shutil.which("javac") is None:
        return
    here = Path(__file__).parent
    subprocess.run(["javac", "-g", "-d", folder, here / "programs" / "Recorded.java"], check=True)
    settings = ROOT / "pyserver" / "memlens" / "packs" / "jvm" / "flight" / "memory.jfc"
    options = "dumponexit=true,path-to-gc-roots=true"
    table = tomllib.loads((here / "recordings.toml").read_text("utf-8"))["recordings"]
    running = []
    for case in table:
        case |= {"file": f"Recorded.java: {case['kind']}", "path": folder / f"{case['kind']}.jfr"}
        recording = f"-XX:StartFlightRecording=settings={settings},filename={case['path']},{options}"
        # a small young generation, so that objects are sampled and collected often
        command = ["java", "-XX:+UseSerialGC", "-Xmx64m", "-Xmn8m", recording, "-cp", folder, "shop.Recorded"]
        running.append(subprocess.Popen([*command, case["kind"]], stdout=subprocess.DEVNULL))
    for process in running:
        process.wait(300)
    yield from table


def judge(case: dict[str, Any], snapshot: Snapshot) -> Verdict:
    """What Memlens says of a file, beside what is right."""
    said = headline(snapshot, None).text
    found = findings(snapshot, None, 100).findings
    shown = [(each["name"], float(each["share"].replace("under 1", "0.5"))) for each in _HELD.finditer(said)]
    if "Grew most:" in said:
        # a difference has no shares: only the order counts
        names = [each["name"] for each in _GREW.finditer(said)]
        right = [share for _, share in case["held"]]
        shown = list(zip(names, right, strict=False))
    first = [f"{pattern!r} isn't said" for pattern in case.get("names", []) if not re.search(pattern, said)]
    for place, (name, share) in enumerate(case.get("held", [])):
        at = next((number for number, (other, _) in enumerate(shown) if _is_of(name, other)), None)
        ties = 0 if at is None else shown[0][1] - shown[at][1]
        if at is None or (place == 0 and ties > 1):
            first.append(f"{name} isn't {'first' if place == 0 else 'named'}")
        elif abs(shown[at][1] - share) > case.get("within", WITHIN):
            first.append(f"{name} has {shown[at][1]:.0f}%, not {share}%")
    first += [f"says {text!r}" for text in case.get("never", []) if text in said]
    says, may = set(case.get("says", [])), {*case.get("open", []), *ADDS_UP}
    rules = Counter(each.rule for each in found)
    wrong = [
        f"{each.rule}: {each.text}"
        for each in found
        if (each.rule not in says | may and not getattr(each, "is_note", False))
        or any(text in each.text for text in case.get("never", []))
        or (each.rule == "dominant_module" and not any(name in each.text for name in case["module"].split()))
    ]
    firm = frozenset(each.rule for each in found if not getattr(each, "is_note", False))
    missing = sorted(says - set(rules))
    missing += [
        text for text in case.get("tells", []) if not any(re.search(text, each.text) for each in found)
    ]
    return Verdict(case["file"], first, wrong, missing, rules, said, snapshot.info.model, firm)


def _is_of(name: str, shown: str) -> bool:
    """Whether a headline's name is that of a line; a file is known by its last components."""
    if name in ("No stack", "Gradients"):
        return name.lower() in shown.lower()
    if " " in name:
        return shown.startswith(name)
    bare = shown.split(" ", maxsplit=1)[0].replace("(inferred)", "")
    return bare == name or bare.endswith(f"/{name}")


def verdicts(
    chosen: str = "", archives: Cache | None = None, left_out: Collection[Path] = ()
) -> Iterator[Verdict]:
    """Of each file, or of those whose name has a text; ``archives`` may have them read already."""
    with tempfile.TemporaryDirectory() as folder:
        cache = archives or Cache(Path(folder), 1 << 40)
        yield from _verdicts(cases(), chosen, cache, left_out)


def of_programs(chosen: str = "") -> Iterator[Verdict]:
    """Of each program, or of those whose name and kind have a text."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as archives:
        cache = Cache(Path(archives), 1 << 40)
        yield from _verdicts(chain(programs(Path(folder)), recordings(Path(folder))), chosen, cache)


def _verdicts(
    chosen_from: Iterator[dict[str, Any]], chosen: str, cache: Cache, left_out: Collection[Path] = ()
) -> Iterator[Verdict]:
    for case in chosen_from:
        path = case["path"]
        if chosen not in case["file"] or path in left_out:
            continue
        try:
            snapshot = Snapshot.open(cache.find(path) or ingest(path, cache, lambda *_: None))
        except MemlensError as error:
            right = "refused" in case and case["refused"] in str(error)
            yield Verdict(case["file"], [] if right else [str(error)], [], [], Counter(), "")
            continue
        if "refused" in case:
            snapshot.close()
            yield Verdict(case["file"], ["isn't refused"], [], [], Counter(), "")
            continue
        with closing(snapshot):
            yield judge(case, snapshot)


def wrong_owners(chosen: str = "") -> Iterator[tuple[str, list[str]]]:
    """Of each file of ``roots.toml``, what is wrong about whose code its lines are."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder), 1 << 40)
        for case in _at_hand("roots"):
            if chosen in case["file"]:
                with closing(Snapshot.open(ingest(case["path"], cache, lambda *_: None))) as snapshot:
                    yield case["file"], _wrong_owners(case, snapshot)


def _wrong_owners(case: dict[str, Any], snapshot: Snapshot) -> list[str]:
    said: dict[str, set[str]] = {}
    for number, (file, _, _, kind) in enumerate(snapshot.frames.each()):
        owner = "library" if kind != USER else "probably" if snapshot.frames.doubtful[number] else "own"
        said.setdefault(file, set()).add(owner)
    wrong = []
    for owner in ("own", "probably", "library"):
        for name in case.get(owner, []):
            owners = {each for file, found in said.items() if file.endswith(name) for each in found}
            # a compiled file has functions without a line as well, which are nobody's
            if owner not in owners or (owner == "library" and len(owners) > 1):
                wrong.append(f"{name} is {' and '.join(sorted(owners)) or 'not there'}, not {owner}")
    return wrong


class LinedAllocator(ReferenceAllocator):
    """PyTorch's allocator, which is asked by lines of a program; allocations have names."""

    line = 0

    def record(self, action: str, addr: int, size: int, stream: int, pool: tuple[int, int]) -> None:
        """Record an event with its line."""
        super().record(action, addr, size, stream, pool)
        frame = {"filename": "/job/model.py", "line": self.line, "name": f"layer{self.line}"}
        self.events[-1]["frames"] = [frame]

    def take(self, name: str, size_mib: float, line: int, stream: int = 0, pool: int = 0) -> None:
        """Ask for memory. Raises DeviceFullError."""
        self.line = line
        self.malloc(ord(name), round(size_mib * MIB), stream, (0, pool))

    def drop(self, name: str) -> None:
        """Free it."""
        self.request_free(ord(name))
        self.complete_free(ord(name))


def wrong_advice(chosen: str = "") -> Iterator[tuple[str, list[str]]]:
    """Of each program of ``advice.toml``, what is wrong about what it is told after it ran out of memory."""
    for case in tomllib.loads((Path(__file__).parent / "advice.toml").read_text("utf-8"))["programs"]:
        if chosen in case["name"]:
            with tempfile.TemporaryDirectory() as folder:
                yield case["name"], _wrong_advice(case, Path(folder))


def _wrong_advice(case: dict[str, Any], folder: Path) -> list[str]:
    allocator = LinedAllocator(case.get("expandable", False), capacity=case["capacity"] * MIB)
    try:
        for name, *asked in case["steps"]:
            if asked:
                allocator.take(name, *asked)
            else:
                allocator.drop(name)
    except DeviceFullError:
        pass
    else:
        return ["the last request got its memory"]
    if "device_free" in case:
        allocator.events[-1]["device_free"] = case["device_free"] * MIB
    with closing(open_data(folder, allocator.snapshot())) as snapshot:
        (mark,) = (mark for mark in marks(snapshot).marks if mark.kind == "oom")
        found = oom(snapshot, mark.device, mark.event).findings
        first = headline(snapshot, None).text
    codes = {each.code for each in found if each.advice}
    texts = [each.text.text for each in found]
    wrong = [f"{code} isn't said" for code in case["says"] if code not in codes]
    wrong += [f"{code} is said" for code in case["never"] if code in codes]
    if not any(re.search(case.get("text", ""), text) for text in texts):
        wrong.append(f"{case['text']!r} isn't said")
    return [*wrong, *([f"{first} doesn't say {case['tries']!r}"] if case["tries"] not in first else [])]


def main(chosen: str = "") -> int:
    """Prints what is wrong and the rates."""
    found = []
    for each in (*verdicts(chosen), *of_programs(chosen)):
        found.append(each)
        print(f"{'right' if not (each.first or each.wrong or each.missing) else 'WRONG'}  {each.file}")
        if each.first:
            print(f"       headline: {each.headline}")
        for text in [*each.first, *each.wrong, *(f"{rule} is missing" for rule in each.missing)]:
            print(f"       {text}")
    for model in sorted({each.model for each in found} - {""}):
        of_model = [each for each in found if each.model == model]
        print(f"\nRules for a {model}, and in how many of {len(of_model)} files they find something:")
        firm = Counter(rule for each in of_model for rule in each.firm)
        for rule, count in Counter(rule for each in of_model for rule in each.rules).most_common():
            notes = f"  a note in {count - firm[rule]}" if count > firm[rule] else ""
            print(
                f"  {rule:24} {count:4}{notes}{'  MORE THAN HALF' if 2 * firm[rule] > len(of_model) else ''}"
            )
    good = sum(not each.first for each in found)
    told = sum(sum(each.rules.values()) for each in found)
    print(f"\nFirst lines right: {good} of {len(found)} ({100 * good / max(len(found), 1):.0f}%)")
    wrong, missing = sum(len(each.wrong) for each in found), sum(len(each.missing) for each in found)
    print(f"Findings wrong: {wrong} of {told}; missing: {missing}")
    owners = list(wrong_owners(chosen))
    for file, texts in owners:
        print("".join(f"WRONG  {file}: {text}\n" for text in texts), end="")
    print(f"Whose code it is, right: {sum(not texts for _, texts in owners)} of {len(owners)} files")
    advised = list(wrong_advice(chosen))
    for name, texts in advised:
        print("".join(f"WRONG  {name}: {text}\n" for text in texts), end="")
    print(
        f"Advice after out of memory, right: {sum(not texts for _, texts in advised)} of {len(advised)} programs"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
