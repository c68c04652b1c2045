"""``memlens/report``: what a view's report quotes is what the user has chosen."""

from pathlib import Path

from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view
from tests.python.test_report_contents import TOKENS, dump

pytest_plugins = ("tests.python.server_fixtures",)


def test_a_report_quotes_contents_only_if_that_is_chosen(server: LspClient, tmp_path: Path) -> None:
    path = tmp_path / "tokens.heapsnapshot"
    path.write_bytes(dump())
    snapshot = open_view(server, path)["snapshot"]
    for form in ("html", "markdown"):
        asked = {"snapshot": snapshot, "form": form}
        plain, quoting = (
            server.request("memlens/report", asked | more)["text"] for more in ({}, {"values": True})
        )
        assert TOKENS[0][:13] not in plain
        assert TOKENS[0][:13] in quoting
