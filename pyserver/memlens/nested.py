"""Names without what is in brackets, however deep these are nested."""

import re


def without_nested(text: str, pair: str) -> str:
    """Leave out each ``<...>``, or what else ``pair`` opens and closes, in one pass; a bracket without its other stays.

    A name may have thousands within each other. To remove the innermost ones again and again would take minutes.
    """
    if pair[0] not in text:
        return text
    kept: list[str] = []
    opened: list[int] = []
    first, last = pair
    for part in re.findall(f"[{re.escape(pair)}]|[^{re.escape(pair)}]+", text):
        if part == last and opened:
            del kept[opened.pop() :]
        else:
            if part == first:
                opened.append(len(kept))
            kept.append(part)
    return "".join(kept)
