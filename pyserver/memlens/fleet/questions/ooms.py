"""Out-of-memory events of all snapshots: which ran out first."""

import apsw
from msgspec import Struct


class OomOfFleet(Struct, frozen=True):
    """An event. ``after_first_us`` is how long after the first one it was, by the machines' clocks."""

    name: str
    rank: int | None
    device: int
    event: int
    us: float | None
    unix_us: int | None
    after_first_us: int | None
    requested_bytes: int
    device_free_bytes: int | None
    live_bytes: int
    text: str
    file: str
    line: int
    function: str


def ooms(fleet: apsw.Connection, limit: int | None = None) -> list[OomOfFleet]:
    """The first events, or all, in the order of time; those without a clock last, in the order of names."""
    rows = fleet.execute(
        """
        SELECT s.name, s.rank, o.device, o.event, o.us, o.unix_us, o.unix_us - min(o.unix_us) OVER (),
            o.requested_bytes, o.device_free_bytes, o.live_bytes, o.text, o.file, o.line, o.function
        FROM ooms AS o JOIN snapshots AS s USING (snapshot)
        ORDER BY o.unix_us IS NULL, o.unix_us, s.name, o.device, o.event LIMIT ?
        """,
        (-1 if limit is None else limit,),
    )
    return [OomOfFleet(*row) for row in rows]
