"""Small captures of memray that stand for much, as :mod:`tests.fuzz.shapes` has them of other formats."""

from memlens.packs.python.tests.memray_files import FREE, MALLOC, MMAP, MUNMAP, Records, header

_PAGE = 4096
_BASE = 1 << 40
_TABLE = b"\xe8\x02"
"""An entry of a table of lines: one unit of code, on the next line."""


def _main(*, native: bool = False) -> Records:
    """The records of a capture whose main thread is in a function."""
    records = Records(native=native)
    records.thread(1)
    records.code(1, b"main", b"/a/b.py", 1)
    records.push(1)
    return records


def _capture(records: Records, *, native: bool = False) -> bytes:
    return header(native=native) + records.end()


def mappings_downwards(size: int) -> bytes:
    """``size`` mappings, each below the one before."""
    records = _main()
    for each in range(size):
        records.allocate(MMAP, _BASE - 2 * _PAGE * each, _PAGE)
    return _capture(records)


def overlapping_mappings(size: int) -> bytes:
    """``size`` mappings of one range, then as many holes that are cut into all of them."""
    records = _main()
    for _ in range(size):
        records.allocate(MMAP, _BASE, 2 * _PAGE * size)
    for each in range(size):
        records.allocate(MUNMAP, _BASE + 2 * _PAGE * each, _PAGE)
    return _capture(records)


def shrinking_mappings(size: int) -> bytes:
    """``size`` mappings of one range whose ends are unmapped together, in as many steps."""
    records = _main()
    for _ in range(size):
        records.allocate(MMAP, _BASE, _PAGE * (size + 1))
    for each in range(size):
        records.allocate(MUNMAP, _BASE + _PAGE * (size - each), _PAGE)
    return _capture(records)


def stacked_mappings(size: int) -> bytes:
    """``size`` mappings, each inside the one before, and an end of all of them that isn't seen."""
    records = _main()
    for each in range(size):
        records.allocate(MMAP, _BASE + _PAGE * each, 2 * _PAGE * (size - each))
    return _capture(records)


def instructions_of_a_table(size: int) -> bytes:
    """A function whose table of lines has ``size`` entries, and calls of its last ``size`` instructions."""
    records = _main()
    # one unit of code each, on the next line
    records.code(2, b"f", b"/a/b.py", 1, _TABLE * size)
    for each in range(size):
        records.push(2, 2 * (size - each) - 2)
        records.allocate(MALLOC, _BASE + 16 * each, 16)
        records.pop()
    return _capture(records)


def instructions_of_a_name(size: int) -> bytes:
    """``size`` calls of a function whose name has 10 million letters, each on a line of its own."""
    records = _main()
    records.code(2, b"f" * 10_000_000, b"/" + b"a" * 10_000_000, 1, _TABLE * size)
    for each in range(size):
        records.push(2, 2 * each)
        records.allocate(MALLOC, _BASE + 16 * each, 16)
        records.pop()
    return _capture(records)


def native_generations(size: int) -> bytes:
    """A native stack of ``size`` frames, from which is allocated after each of as many changes of what is mapped."""
    records = _main(native=True)
    for each in range(size):
        records.native_frame(_PAGE + each, each)
    for each in range(size):
        records.maps()
        records.allocate(MALLOC, _BASE + 16 * each, 16, size)
    return _capture(records, native=True)


def native_stacks(size: int) -> bytes:
    """A native stack of ``size`` frames, to which as many functions of Python lead."""
    records = _main(native=True)
    for each in range(size):
        records.native_frame(_PAGE + each, each)
    for each in range(size):
        records.push(1, 2 * each)
        records.allocate(MALLOC, _BASE + 16 * each, 16, size)
        records.pop()
    return _capture(records, native=True)


def native_tails(size: int) -> bytes:
    """A native stack of ``size`` frames, each of which allocates."""
    records = _main(native=True)
    records.pop()
    for each in range(size):
        records.native_frame(_PAGE + each, each)
    for each in range(size):
        records.allocate(MALLOC, _BASE + 16 * each, 16, each + 1)
    return _capture(records, native=True)


def sizes_of_blocks(size: int) -> bytes:
    """``size`` blocks of one place, each of another size."""
    records = _main()
    for each in range(size):
        records.allocate(MALLOC, _BASE + 8 * each, each)
    return _capture(records)


def threads(size: int) -> bytes:
    """``size`` threads, each with an allocation."""
    records = Records()
    for each in range(size):
        records.thread(each + 1)
        records.allocate(MALLOC, _BASE + 16 * each, 16)
    return _capture(records)


def memory_records(size: int) -> bytes:
    """``size`` moments at which nothing changed."""
    records = _main()
    records.allocate(MALLOC, _BASE, 16)
    for _ in range(size):
        records.memory(1, 1)
    return _capture(records)


def lives(size: int) -> bytes:
    """``size`` blocks, each of which lives from a moment of its own until the end."""
    records = _main()
    for each in range(size):
        records.allocate(MALLOC, _BASE + 16 * each, 16)
        records.memory(1, 1)
    return _capture(records)


def one_stack(size: int) -> bytes:
    """One stack of ``size`` calls, each on a line of its own."""
    records = _main()
    records.code(2, b"f", b"/a/b.py", 1, _TABLE * size)
    for each in range(size):
        records.push(2, 2 * each)
    records.allocate(MALLOC, _BASE, 16)
    return _capture(records)


def deep_stacks(size: int) -> bytes:
    """A chain of ``size`` calls, each of which allocated."""
    records = _main()
    for each in range(size):
        records.push(1)
        records.allocate(MALLOC, _BASE + 16 * each, 16)
    return _capture(records)


def small() -> dict[str, bytes]:
    """A small capture of each kind, and one that has everything in it."""
    made = (
        overlapping_mappings, shrinking_mappings, stacked_mappings, native_generations, native_stacks, native_tails,
        sizes_of_blocks, threads, lives, one_stack,
    )  # fmt: skip
    return {each.__name__: each(4) for each in made} | {"everything": _everything()}


def _everything() -> bytes:
    records = _main(native=True)
    records.name(b"main")
    records.maps((b"/lib/x.so", _PAGE, [(0, 2 * _PAGE)]))
    records.native_frame(_PAGE + 8, 0)
    records.native_frame(_PAGE + 16, 1)
    for each in range(4):
        records.push(1, 2 * each, is_entry=bool(each % 2))
        records.allocate(MALLOC, _BASE + 16 * each, 16, 2)
        records.allocate(MMAP, _BASE + _PAGE * each, 3 * _PAGE, 1)
        records.memory(100, 10 * each)
        records.thread(2)
        records.push(7)
        records.allocate(FREE, _BASE + 16 * each)
        records.allocate(MUNMAP, _BASE + _PAGE * (each + 1), _PAGE)
        records.pop()
        records.thread(1)
        records.pop()
    return _capture(records, native=True)
