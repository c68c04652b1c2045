"""The world of V8, the engine of JavaScript in Node.js and Chrome: heap snapshots and sampling heap profiles."""

import re

from memlens.packs.api import (
    Classes,
    CollectionTypes,
    FilterTerm,
    Format,
    JoinedTexts,
    Language,
    Launch,
    Message,
    NextTime,
    Objects,
    Pack,
    Part,
    Platform,
    Proof,
    RecordingKind,
    Rule,
    RuntimeKind,
    Scopes,
    Texts,
)
from memlens.texts import Text, phrase

_HERE = "memlens.packs.v8"
REALM = "system / NativeContext"
"""How the types of realms begin: contexts of a page or a program, from which everything global hangs."""
OWN_FILES = "node:"
"""How the names of Node.js's own scripts begin."""
SNAPSHOT_ENDING = ".heapsnapshot"
"""The file name extension of the dumps that Memlens takes."""
_BUILT_IN = (
    "Array", "ArrayBuffer", "BigInt", "Boolean", "DataView", "Date", "Error", "FinalizationRegistry",
    "Generator", "global", "Map", "Number", "Promise", "Proxy", "RegExp", "Set", "SharedArrayBuffer", "String",
    "Symbol", "WeakMap", "WeakRef", "WeakSet", "BigInt64Array", "BigUint64Array", "Float32Array",
    "Float64Array", "Int8Array", "Int16Array", "Int32Array", "Uint8Array", "Uint8ClampedArray", "Uint16Array",
    "Uint32Array",
)  # fmt: skip

_RECORDINGS = (
    RecordingKind(
        title=phrase("Every object, over time"),
        detail=phrase("What stays alive, since when and by which stack; V8 collects garbage all the time"),
        ending=".heaptimeline",
    ),
    RecordingKind(
        title=phrase("Samples"),
        detail=phrase("Estimates which stacks hold how much, at little cost, as in production"),
        ending=".heapprofile",
        sampling=True,
    ),
)

PACK = Pack(
    name="v8",
    title="V8 (Node.js, Chrome)",
    language=Language(suffixes=(".js", ".mjs", ".cjs", ".ts")),
    libraries=("javascript",),
    library_folders=("node_modules",),
    formats=(
        Format(
            name="v8-sampling",
            title="sampling heap profile of V8",
            file_names=("*.heapprofile",),
            several=phrase("sampling heap profiles of V8"),
            reader=Part(f"{_HERE}.sampling"),
            json=Part(f"{_HERE}.sampling:JSON"),
        ),
        Format(
            name="v8",
            title="V8 heap snapshot",
            label="V8",
            file_names=("*.heapsnapshot", "*.heapsnapshot.gz", "*.heapsnapshot.zst", "*.heaptimeline"),
            reader=Part(f"{_HERE}.heap"),
            beginning=b'{"snapshot":{"meta":{"node_fields":',
            keeps_memory=True,
            json=Part(f"{_HERE}.heap:JSON"),
            objects=Objects(
                runtime="JavaScript",
                lasting_ids=phrase(
                    "They are between dumps that one process wrote, or that were taken while DevTools or another "
                    "inspector stayed connected."
                ),
                all_roots=frozenset(("(synthetic)",)),
                has_internal_parts=True,
                named_references=("_events", "context", "table"),
                realms=Part(f"{_HERE}.realms"),
                terms=(
                    FilterTerm(
                        begins="realm:",
                        finds="a frame of a page by its address or script",
                        examples=("realm:/orders.html",),
                    ),
                    FilterTerm(
                        begins="in:",
                        finds="another heap dump of V8 has it as well",
                        examples=("in:2.heapsnapshot", "-in:1.heapsnapshot"),
                        note="the minus finds what is new",
                    ),
                    FilterTerm(begins="is:detached", finds="detached from its document (V8)"),
                ),
                platform=Platform(
                    # plain objects and functions are the program's
                    built_in=frozenset(_BUILT_IN),
                    plain=frozenset(("Object", "Array", "Function", "Map", "Set", "Promise")),
                    # Node.js's
                    timers=frozenset(("Timeout", "TimersList", "Immediate")),
                    has_packages=False,
                    program_kinds=frozenset(("object", "closure")),
                    engine_types=("system / ",),
                    files=(OWN_FILES,),
                    name=Text("Node.js"),
                    global_names=frozenset(("process",)),
                ),
                texts=Texts(
                    most_bytes=1_024,
                    # String is Julia's, in V8's format
                    kinds=frozenset(("string", "concatenated string", "String")),
                    number_texts=("number", "value"),
                    # the limit on joined strings, see kernels/texts.pyx
                    joined=JoinedTexts(
                        kind="concatenated string", most_bytes=1_024, unknown_part="(sliced string)"
                    ),
                ),
                classes=Classes(
                    named_in_code=frozenset(("(compiled code)", "Function", "(shape)", "(system)")),
                    declaration=re.compile(r"\bclass[ \t]+([\w$]+)"),
                ),
                scopes=Scopes(
                    # V8 adds what it is, and the address of its page
                    global_object=re.compile(
                        r"(global|Window)( \(global\*?\)| \[JSGlobalObject\])?( /.*)?", re.DOTALL
                    ),
                    global_scopes=(REALM,),
                    variables_type="system / Context",
                    variables_references="context",
                ),
                collections=CollectionTypes(
                    sizes=Part(f"{_HERE}.collections:sizes"),
                    unseen_elements=phrase(", or have only small integers, which V8's dumps don't show,"),
                ),
            ),
            redaction=Part(f"{_HERE}.redaction"),
            proof=Proof(recognises=Part(f"{_HERE}.proof:recognises"), reader=Part(f"{_HERE}.proof:V8Reader")),
        ),
    ),
    runtimes=(
        RuntimeKind(
            name="node",
            title="Node.js",
            programs=re.compile(r"node(?:js)?"),
            with_value=frozenset(
                ("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions")
            ),
            ending=SNAPSHOT_ENDING,
            dump=Part(f"{_HERE}.dumping.node:write"),
            record=Part(f"{_HERE}.dumping.node:record"),
            recordings=_RECORDINGS,
            tools=("node",),
        ),
    ),
    pages=Part(f"{_HERE}.dumping.pages"),
    recordings=_RECORDINGS,
    rules=(
        Rule(findings=("detached_nodes",), find=Part(f"{_HERE}.leaks:detached_nodes"), model="graph"),
        Rule(findings=("listeners",), find=Part(f"{_HERE}.leaks:emitter_listeners"), model="graph"),
        Rule(findings=("unread_variables",), find=Part(f"{_HERE}.unread:unread_variables"), model="graph"),
        Rule(findings=("contexts",), find=Part(f"{_HERE}.leaks:contexts"), model="graph"),
    ),
    launches=(
        Launch(
            name="node",
            records=phrase(
                "Node.js: heap snapshots near the limit of its heap and on SIGUSR2, and what its lines allocated"
            ),
            has_limit=True,
            programs=re.compile(r"node(?:js)?|npm|npx|pnpm|yarn"),
            variables=Part(f"{_HERE}.launching:variables"),
        ),
    ),
    messages=(
        Message(
            name="node-fatal-error",
            title=phrase("Node.js's fatal error about its heap"),
            signs=("FATAL ERROR: ", "Fatal process out of memory: "),
            read=Part(f"{_HERE}.messages:fatal_error"),
        ),
        Message(
            name="node-report",
            title=phrase("diagnostic reports of Node.js"),
            signs=('"javascriptHeap"',),
            read=Part(f"{_HERE}.messages:report"),
        ),
        Message(
            name="node-worker",
            title=phrase("ERR_WORKER_OUT_OF_MEMORY"),
            signs=("ERR_WORKER_OUT_OF_MEMORY",),
            read=Part(f"{_HERE}.messages:worker"),
        ),
        Message(
            name="node-buffer",
            title=phrase("Array buffer allocation failed"),
            signs=("Array buffer allocation failed",),
            read=Part(f"{_HERE}.messages:array_buffer"),
        ),
        Message(
            name="node-stack",
            signs=("RangeError: Maximum call stack size exceeded",),
            read=Part(f"{_HERE}.messages:no_stack"),
        ),
    ),
    next_time=NextTime(
        programs=re.compile(r"node(?:js)?|MainThread"),
        section="Node.js",
        recording="node --heapsnapshot-near-heap-limit=2 --max-old-space-size=1500 app.js",
        leaves=phrase("It writes at most two heap snapshots shortly before the limit."),
    ),
)
