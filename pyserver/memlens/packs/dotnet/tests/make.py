"""Makes the dump beside it anew: ``python -m memlens.packs.dotnet.tests.make``, in pyserver.

No runtime is needed: the dump is written as dotnet-gcdump would write that of ``Sessions.cs``.
"""

from pathlib import Path

from memlens.packs.dotnet.tests.gcdump_files import gcdump

SESSIONS = 400


def make() -> None:
    """The heap of ``Sessions.cs``: a static dictionary whose array of entries refers to the sessions."""
    core = "System.Private.CoreLib"
    types = [
        ("[.NET Roots]", 0, None), ("[static vars]", 0, None), ("[static var Shop.Program.Open]", 0, None),
        ("System.Collections.Generic.Dictionary<System.Int32,Shop.Session>", 80, core),
        ("System.Collections.Generic.Dictionary+Entry<System.Int32,Shop.Session>[]", -1, core),
        ("Shop.Session", 32, "App.dll"), ("System.Double[]", 8_024, core), ("System.String", -1, core),
    ]  # fmt: skip
    first = 5
    sessions = range(first, first + SESSIONS)
    nodes = [
        (0, None, [1]), (1, None, [2]), (2, None, [3]), (3, None, [4]), (4, 24 + 24 * 512, [*sessions]),
        *((5, None, [each + SESSIONS]) for each in sessions), *((6, None, []) for _ in sessions),
        *((7, 64, []) for _ in range(200)),
    ]  # fmt: skip
    Path(__file__).with_name("sessions.gcdump").write_bytes(gcdump(types, nodes))


if __name__ == "__main__":
    make()
