"""The sample as if its code were in another folder, with lines added at the top of model.py and twice the memory held
by a line of train.py: ``python -m tests.e2e.branch SOURCE TARGET SHIFT``.
"""

import pickle
import sys
from pathlib import Path

source, target, shift = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
data = pickle.loads(source.read_bytes())
seen: set[int] = set()
for trace in data["device_traces"]:
    for event in trace:
        own = next((f for f in event["frames"] if "/" not in f["filename"]), None)
        if own and (own["filename"], own["line"]) == ("train.py", 46):
            event["size"] *= 2
    for event in trace:
        for frame in event["frames"]:
            if id(frame) not in seen and "/" not in frame["filename"] and frame["filename"].endswith(".py"):
                frame["line"] += shift * (frame["filename"] == "model.py")
                frame["filename"] = "/srv/jobs/7/" + frame["filename"]
            seen.add(id(frame))
target.write_bytes(pickle.dumps(data))
