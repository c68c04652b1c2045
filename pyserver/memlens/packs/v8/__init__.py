"""The world of V8, the engine of JavaScript in Node.js and Chrome: heap snapshots and sampling heap profiles."""

from memlens.packs.api import Format, Objects, Pack, Part, Proof
from memlens.texts import phrase

_HERE = "memlens.packs.v8"
_BUILT_IN = (
    "Array", "ArrayBuffer", "BigInt", "Boolean", "DataView", "Date", "Error", "FinalizationRegistry",
    "Generator", "global", "Map", "Number", "Promise", "Proxy", "RegExp", "Set", "SharedArrayBuffer", "String",
    "Symbol", "WeakMap", "WeakRef", "WeakSet", "BigInt64Array", "BigUint64Array", "Float32Array",
    "Float64Array", "Int8Array", "Int16Array", "Int32Array", "Uint8Array", "Uint8ClampedArray", "Uint16Array",
    "Uint32Array",
)  # fmt: skip

PACK = Pack(
    name="v8",
    title="V8 (Node.js, Chrome)",
    libraries=("javascript",),
    formats=(
        Format(
            name="v8-sampling",
            title="sampling heap profile of V8",
            file_names=("*.heapprofile",),
            contested=("*.heapprofile",),
            several=phrase("sampling heap profiles of V8"),
            reader=Part(f"{_HERE}.sampling"),
            json=Part(f"{_HERE}.sampling:JSON"),
        ),
        Format(
            name="v8",
            title="V8 heap snapshot",
            file_names=("*.heapsnapshot", "*.heapsnapshot.gz", "*.heapsnapshot.zst", "*.heaptimeline"),
            contested=("*.heapsnapshot",),
            reader=Part(f"{_HERE}.heap"),
            beginning=b'{"snapshot":{"meta":{"node_fields":',
            keeps_memory=True,
            json=Part(f"{_HERE}.heap:JSON"),
            objects=Objects(
                runtime="JavaScript",
                # plain objects and functions are the program's
                built_in=frozenset(_BUILT_IN),
                plain=frozenset(("Object", "Array", "Function", "Map", "Set", "Promise")),
                # Node.js's
                timers=frozenset(("Timeout", "TimersList", "Immediate")),
                text_bytes=1_024,
            ),
            redaction=Part(f"{_HERE}.redaction"),
            proof=Proof(recognises=Part(f"{_HERE}.proof:recognises"), reader=Part(f"{_HERE}.proof:V8Reader")),
        ),
    ),
)
