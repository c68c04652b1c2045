"""Prints what the server answers to the questions of a headline: a JSON object for each file, as on the wire."""

import sys
import tempfile
from contextlib import closing
from pathlib import Path

import msgspec

from memlens.ingest import ingest
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import findings, headline

with tempfile.TemporaryDirectory() as folder:
    for name in sys.argv[1:]:
        archive = ingest(Path(name), Cache(Path(folder)), lambda *_: None)
        with closing(Snapshot.open(archive)) as snapshot:
            answer = {"headline": headline(snapshot, None), "findings": findings(snapshot, None, 20)}
            print(msgspec.json.encode(answer).decode())
