"""Makes the archive of a heap dump without its findings, which no peer makes: ``python archive.py FILE FOLDER``.

Names, references, dominators, retained sizes and the compact tree are in it.
"""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "pyserver"))

from memlens import limits
from memlens.ingest import ingest
from memlens.store.cache import Cache

# as ``memlens ingest`` does
gc.disable()
limits.share_one_heap()
ingest(Path(sys.argv[1]), Cache(Path(sys.argv[2])), lambda *_: None, ahead=False)
