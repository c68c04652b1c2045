"""The request of the pane of what would have happened."""

from memlens.server.protocol.what_if import WhatIfAnswer, WhatIfParams
from memlens.server.questions import LONG, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.trace import what_if_words as words
from memlens.views.trace.what_if import what_if


@question("memlens/whatIf", name=phrase("what would have happened"), cost=LONG)
def _what_if(snapshot: Snapshot, p: WhatIfParams) -> WhatIfAnswer:
    found = what_if(snapshot, p.device, settings=p.settings, without=p.without)
    return WhatIfAnswer(found, words.exactness(found.calibration), words.conclusion(found))
