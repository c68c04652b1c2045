"""The world of Python: tracemalloc's snapshots, memray's captures, heap dumps by Memlens and PyHeap, and CPython.

``memlens.dump`` and ``memlens.remote_dump``, which write dumps, are outside of the pack: programs import them, and may
have nothing but Python's standard library.
"""

import re

from msgspec.structs import replace

from memlens.packs.api import (
    NOTHING,
    Classes,
    Format,
    FrameVariables,
    Language,
    Launch,
    Message,
    MeterKind,
    Namespaces,
    NextTime,
    Objects,
    Pack,
    Part,
    Proof,
    RuntimeKind,
    Scopes,
    Texts,
)
from memlens.texts import phrase

_HERE = "memlens.packs.python"
_PROGRAMS = re.compile(r"python(?:3(?:\.(\d+))?)?t?", re.IGNORECASE)

_OBJECTS = Objects(
    runtime="Python",
    texts=Texts(
        strings=frozenset(("str",)),
        has_empty_strings=True,
        numbers=frozenset(("int", "float")),
    ),
    classes=Classes(
        types=frozenset(("type",)),
        code=frozenset(("type", "module", "function")),
        named_in_code=frozenset(("builtin_function_or_method", "method", "code")),
        lineage="__mro__",
    ),
    scopes=Scopes(
        module_type="module",
        namespaces=Namespaces(type="dict", attribute="__dict__"),
        frame_variables=FrameVariables(root="local", module_level="<module>"),
        # threading.local itself, not classes that inherit from it
        thread_locals=re.compile(r"_thread\._local"),
    ),
)

PACK = Pack(
    name="python",
    title="Python",
    language=Language(
        suffixes=(".py", ".pyw", ".pyi", ".ipynb"),
        # PyInit_name is what a module of the program's own exports
        runtime_functions=re.compile(r"_?Py(?!Init_)[A-Z_]"),
    ),
    libraries=("python",),
    library_folders=("site-packages", "dist-packages"),
    language_libraries=("CPython",),
    zip_files=((".npy", phrase("it contains arrays of NumPy")),),
    allocation_functions=True,
    formats=(
        Format(
            name="tracemalloc",
            title="tracemalloc snapshot",
            several=phrase("tracemalloc snapshots"),
            # a pickle: the first name in it says which
            comes_first=True,
            reader=Part(f"{_HERE}.tracemalloc"),
            file_names=("*.tracemalloc",),
        ),
        Format(
            name="memray",
            title="memray capture",
            several=phrase("captures of memray"),
            reader=Part(f"{_HERE}.memray"),
            file_names=("memray-*.bin", "*.memray.bin"),
            endings=("bin",),
            not_redacted=(
                phrase(
                    "memray's captures have the command line with its arguments, the process id, names of threads, and "
                    "paths, in a format that Memlens can't write"
                ),
                NOTHING,
            ),
        ),
        Format(
            name="python_heap",
            title="heap dump of Python by Memlens",
            label="Python",
            kind="python",
            reader=Part(f"{_HERE}.heap"),
            endings=("heap",),
            beginning=b"\x89MLHEAP\n",
            objects=replace(
                _OBJECTS,
                platform=replace(
                    _OBJECTS.platform,
                    # those of PyHeap have no modules in the names of types
                    is_package=Part(f"{_HERE}.packages:is_of_language"),
                ),
                classes=replace(
                    _OBJECTS.classes,
                    says_superclasses=True,
                ),
                texts=replace(
                    _OBJECTS.texts,
                    most_bytes=100,
                ),
            ),
            redaction=Part(f"{_HERE}.redaction"),
            proof=Proof(
                recognises=Part(f"{_HERE}.proof:recognises"), reader=Part(f"{_HERE}.proof:PythonReader")
            ),
        ),
        Format(
            name="pyheap",
            title="heap dump of Python by PyHeap",
            label="PyHeap",
            reader=Part(f"{_HERE}.pyheap"),
            file_names=("*.pyheap",),
            objects=replace(
                _OBJECTS,
                texts=replace(
                    _OBJECTS.texts,
                    most_bytes=1_000,
                ),
            ),
            redaction=Part(f"{_HERE}.pyheap_redaction"),
            proof=Proof(
                recognises=Part(f"{_HERE}.pyheap_proof:recognises"),
                reader=Part(f"{_HERE}.pyheap_proof:PyHeapReader"),
            ),
        ),
    ),
    runtimes=(
        RuntimeKind(
            name="python",
            title="Python",
            programs=_PROGRAMS,
            embedded=re.compile(r"libpython3\.(\d+)(?:\.so[\d.]*)?t?", re.IGNORECASE),
            version_in_path=re.compile(r"(?:[Pp]ython|/Versions/)-?3\.?(\d\d)\b"),
            # runs code on request from outside
            first_version=14,
            ending=".heap",
            dump=Part(f"{_HERE}.dumping:write"),
            dumped="Python 3.14 and later",
            can_omit_texts=True,
            with_value=frozenset(("-W", "-X", "--check-hash-based-pycs")),
        ),
    ),
    meters=(
        MeterKind(name="tracemalloc", meter=Part(f"{_HERE}.meters:Tracemalloc"), is_default=True),
        MeterKind(name="memray", meter=Part(f"{_HERE}.memray_meter:Memray")),
    ),
    launches=(
        Launch(
            name="tracemalloc",
            records=phrase("Python's own objects, by the lines that allocated them"),
            programs=_PROGRAMS,
            recorder=True,
        ),
        Launch(
            name="memray",
            records=phrase("Python and native code, by memray, whose file survives SIGKILL"),
            programs=_PROGRAMS,
            is_chosen=False,
            arguments=Part(f"{_HERE}.launching:by_memray"),
        ),
    ),
    messages=(
        Message(
            name="python-memory-error",
            title=phrase("Python's MemoryError"),
            signs=("MemoryError",),
            read=Part(f"{_HERE}.messages:memory_error"),
        ),
        Message(
            name="python-recursion",
            signs=("RecursionError: ",),
            read=Part(f"{_HERE}.messages:no_recursion"),
        ),
    ),
    next_time=NextTime(
        programs=re.compile(r"python[\d.]*|pt_main_thread|pt_data_worker"),
        section="Python",
        recording="python -m memray run -o run.bin app.py",
        leaves=phrase("The file is complete up to the moment when the process is killed."),
    ),
)
