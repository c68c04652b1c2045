"""The world of Ruby: heap dumps by ``ObjectSpace.dump_all``, and whose code its files are."""

import re

from memlens.packs.api import (
    Classes,
    Format,
    Language,
    Message,
    NextTime,
    Objects,
    Pack,
    Part,
    Platform,
    Proof,
    RuntimeKind,
    Scopes,
    Texts,
)
from memlens.texts import phrase

_HERE = "memlens.packs.ruby"
_BUILT_IN = (
    "Array", "BasicObject", "Binding", "Class", "Comparable", "Complex", "Data", "Dir", "Encoding", "Enumerator",
    "Exception", "Fiber", "File", "Float", "Hash", "IO", "Integer", "Kernel", "MatchData", "Method", "Module",
    "Monitor", "Mutex", "Object", "Proc", "Queue", "Ractor", "Random", "Range", "Rational", "Regexp", "RubyVM",
    "Set", "String", "Struct", "Symbol", "Thread", "ThreadGroup", "Time", "TracePoint", "UnboundMethod",
)  # fmt: skip
_RECORDING = """\
require "objspace"

ObjectSpace.trace_object_allocations_start
begin
  work
rescue NoMemoryError
  Process.setrlimit(:AS, Process::RLIM_INFINITY)
  File.open("died.json", "w") { |file| ObjectSpace.dump_all(output: file) }
  raise
end"""

PACK = Pack(
    name="ruby",
    title="Ruby",
    language=Language(suffixes=(".rb",)),
    libraries=("ruby",),
    library_folders=("gems", "lib/ruby"),
    allocation_functions=True,
    formats=(
        Format(
            name="ruby",
            title="heap dump of Ruby",
            label="Ruby",
            endings=("json",),
            reader=Part(f"{_HERE}.reader"),
            json=Part(f"{_HERE}.reader:JSON"),
            objects=Objects(
                runtime="Ruby",
                # a thread has its stack in its own bytes, and the tracer where objects were allocated
                not_of_the_program=frozenset(
                    ("Ractor", "Thread", "(data ObjectTracing/allocation_info_tracer)")
                ),
                # most old objects have them
                common_flags=frozenset(("old", "uncollectible")),
                platform=Platform(
                    built_in=frozenset(_BUILT_IN),
                ),
                classes=Classes(
                    types=frozenset(("Class", "Module")),
                    code=frozenset(("Class", "Module", "(imemo iseq)", "(imemo ment)")),
                    says_superclasses=True,
                ),
                scopes=Scopes(
                    # "vm"
                    mute_roots=True,
                ),
                texts=Texts(
                    kinds=frozenset(("string",)),
                    most_bytes=4_096,
                ),
            ),
            redaction=Part(f"{_HERE}.redaction"),
            proof=Proof(
                recognises=Part(f"{_HERE}.proof:recognises"), reader=Part(f"{_HERE}.proof:DumpReader")
            ),
        ),
    ),
    runtimes=(
        RuntimeKind(
            name="ruby",
            title="Ruby",
            programs=re.compile(r"ruby[\d.]*"),
            advice=phrase(
                "Write it with ObjectSpace.dump_all, in the program or through rbtrace: see docs/ruby.md."
            ),
        ),
    ),
    messages=(
        Message(
            name="ruby-no-memory",
            title=phrase("Ruby's NoMemoryError"),
            signs=("failed to allocate memory",),
            read=Part(f"{_HERE}.messages:no_memory_error"),
        ),
    ),
    next_time=NextTime(
        programs=re.compile(r"ruby[\d.]*"),
        section="Ruby",
        recording=_RECORDING,
        leaves=phrase("It writes died.json, with the line that allocated each object."),
    ),
)
