"""The world of .NET: heap dumps (``.gcdump``), and processes whose heaps dotnet-gcdump writes."""

import re

from memlens.packs.api import (
    Classes,
    CollectionTypes,
    Declarations,
    Format,
    Message,
    NextTime,
    Objects,
    Pack,
    Part,
    Platform,
    Rule,
    RuntimeKind,
    Scopes,
    Texts,
)
from memlens.texts import phrase

_HERE = "memlens.packs.dotnet"
_BOXES = (
    "Boolean", "Byte", "SByte", "Char", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Single", "Double",
    "Decimal", "Guid", "DateTime",
)  # fmt: skip

PACK = Pack(
    name="dotnet",
    title=".NET",
    formats=(
        Format(
            name="gcdump",
            title="heap dump of .NET",
            label=".gcdump",
            file_names=("*.gcdump",),
            reader=Part(f"{_HERE}.gcdump"),
            beginning=b"\x14\0\0\0!FastSerialization.1",
            keeps_memory=True,
            objects=Objects(
                runtime=".NET",
                # PerfView's, also of pages
                all_roots=frozenset(("[.NET Roots]", "[JS Roots]")),
                declarations=Declarations(
                    language="dotnet", suffixes=(".cs",), type_name=Part(f"{_HERE}.names:type_name")
                ),
                scopes=Scopes(
                    static_roots=True,
                    thread_locals=re.compile(r"System\.Threading\.ThreadLocal.*\[\]", re.DOTALL),
                ),
                platform=Platform(
                    packages=re.compile(
                        r"(System|Microsoft|Windows|Interop|Java\.Interop|Mono|Xamarin|Android)(\.|$)"
                    ),
                    is_managed=True,
                ),
                texts=Texts(
                    strings=frozenset(("System.String",)),
                    boxes=frozenset(f"System.{name}" for name in _BOXES),
                ),
                collections=CollectionTypes(
                    types=re.compile(r"System\.Collections\.[\w.`]+(?![\w.`$+])(?!.*\[\])"),
                    package="System.Collections.",
                ),
                classes=Classes(
                    # PerfView's, of large objects
                    note=re.compile(r" \(Bytes > [^()]*\)$"),
                ),
            ),
            not_redacted=(
                phrase(
                    "Heap dumps of .NET have no values, but the machine's name, the process, the time, paths of "
                    "modules, a log of the collection, and in dumps of pages their addresses, in a format that Memlens "
                    "can't write"
                ),
                phrase("Share the file only with people you trust with that data."),
            ),
        ),
    ),
    foreign=Part(f"{_HERE}.foreign:FILES"),
    runtimes=(
        RuntimeKind(
            name="dotnet",
            title=".NET",
            # `dotnet run` and `dotnet build` are tools, but of the same runtime
            programs=re.compile(r"dotnet"),
            libraries=re.compile(r"libcoreclr\.so"),
            ending=".gcdump",
            dump=Part(f"{_HERE}.dumping:write"),
            tools=("dotnet-gcdump",),
        ),
    ),
    rules=(
        Rule(findings=("listeners",), find=Part(f"{_HERE}.delegates:delegate_listeners")),
        Rule(findings=("subscribers",), find=Part(f"{_HERE}.delegates:subscribers")),
        Rule(findings=("pinned",), find=Part(f"{_HERE}.collector:pinned")),
        Rule(findings=("free_blocks",), find=Part(f"{_HERE}.collector:free_blocks")),
    ),
    messages=(
        Message(
            name="dotnet-out-of-memory",
            title=phrase(".NET's OutOfMemoryException"),
            signs=("System.OutOfMemoryException", "Out of memory."),
            read=Part(f"{_HERE}.messages:out_of_memory"),
        ),
    ),
    next_time=NextTime(
        programs=re.compile(r"dotnet"),
        section=".NET",
        recording="memlens dump PID app.gcdump --every 600 --count 6",
        leaves=phrase(
            "A series of heap dumps while it grows; comparing the last with an earlier one shows what does."
        ),
    ),
)
