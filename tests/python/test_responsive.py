"""A held key and slow requests: cancelled ones end, and the last one is answered."""

import contextlib
from pathlib import Path

import pytest
from tests.python.lsp_client import LspClient, Pending, RpcError
from tests.python.server_harness import LOWERED, niceness, open_view, wait_until

pytest_plugins = ("tests.python.server_fixtures",)

CANCELLED = -32800
SLOW_SQL = (
    "SELECT count(*) FROM allocations a, allocations b, allocations c WHERE a.address + b.address = c.address"
)


@pytest.mark.slow
def test_viewports_of_a_burst_are_cancelled_or_answered_and_the_last_one_is_right(
    server: LspClient, sample: Path
) -> None:
    opened = open_view(server, sample)
    device = opened["info"]["devices"][0]
    axis = device["event_axis"]

    def asked(number: int) -> dict[str, object]:
        x0 = axis["x1"] * number / 2_000
        box = {"x0": x0, "x1": x0 + axis["x1"] / 9, "y0": 0, "y1": device["peak_bytes"]}
        about = {"snapshot": opened["snapshot"], "device": device["device"], "axis": "event"}
        return {**about, **box, "columns": 1200, "rows": 700}

    alone = server.request("memlens/viewport", asked(999))
    burst: list[Pending] = []
    for number in range(1_000):
        # as the extension does: only the latest viewport is useful
        if burst:
            burst[-1].cancel()
        burst.append(server.send("memlens/viewport", asked(number)))
    assert burst[-1].result() == alone
    given_up = 0
    for number, pending in enumerate(burst[:-1]):
        try:
            answer = pending.result()
        except RpcError as error:
            given_up += error.code == CANCELLED
        else:
            assert answer == server.request("memlens/viewport", asked(number)), (
                "an answer belongs to its own request"
            )
    assert given_up > 100, "all of them were computed"


@pytest.mark.slow
def test_a_slow_query_does_not_block_others_and_ends_when_it_is_cancelled(
    server: LspClient, sample: Path, workspace: Path
) -> None:
    opened = open_view(server, sample)
    snapshot = opened["snapshot"]
    server.request("memlens/sqlFill", {"snapshot": snapshot})
    slow = [server.send("memlens/sql", {"snapshot": snapshot, "query": SLOW_SQL}) for _ in range(4)]
    # in its snapshot's thread, and in the event loop
    assert server.request("memlens/stack", {"snapshot": snapshot, "allocation": 0})["frames"]
    server.hover(workspace / "code" / "train.py", 10)
    if Path("/proc/self/task").is_dir():
        # the queries' threads have a lower priority; they may have ended while they are listed
        wait_until(lambda: lowest(server.pid) >= LOWERED)
    for pending in slow:
        assert not pending.took_s, "the query was too quick for this test to mean anything"
        pending.cancel()
        with pytest.raises(RpcError) as caught:
            pending.result(60)
        assert caught.value.code == CANCELLED
    assert server.request("memlens/sql", {"snapshot": snapshot, "query": "SELECT 1"})["rows"]
    again = server.send("memlens/sql", {"snapshot": snapshot, "query": SLOW_SQL})
    server.request("memlens/close", {"snapshot": snapshot, "view": "v1"}, 60)
    with pytest.raises(RpcError):
        again.result(60)


def lowest(pid: int) -> int:
    """The niceness of a process's thread with the lowest priority."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found.append(niceness(int(task.name)))
    return max(found)
