"""The sample profile as if its code were in another folder, had lines added at its top, kept twice as much in one
function, and lacked another one: ``python -m tests.e2e.later SOURCE TARGET SHIFT``.
"""

import gzip
import sys
from pathlib import Path

from tests.python.replays.pprof import message_of

from memlens.packs.go.tests.pprof_files import encode

source, target, shift = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
message = message_of(source)
names = message["string_table"]
functions = {each["id"]: each for each in message["function"]}
moved = {number for number, each in functions.items() if names[each["filename"]] == "words.py"}
innermost = {}
for location in message["location"]:
    innermost[location["id"]] = names[functions[location["line"][0]["function_id"]]["name"]]
    for line in location["line"]:
        if line["function_id"] in moved:
            line["line"] += shift
message["sample"] = [s for s in message["sample"] if innermost[s["location_id"][0]] != "documents"]
for sample in message["sample"]:
    if innermost[sample["location_id"][0]] == "Index.add":
        sample["value"] = [2 * value for value in sample["value"]]
names.append("/srv/jobs/7/words.py")
for number in moved:
    functions[number]["filename"] = len(names) - 1
target.write_bytes(gzip.compress(encode(message)))
