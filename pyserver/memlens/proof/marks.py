"""What a text may reveal: e-mail addresses, card numbers, home folders, hosts, tokens, long random texts."""

import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from memlens.kernels.readers import revealing
from memlens.packs import registry

Mark = Literal["email", "card", "home", "host", "token", "random"]
MARKS: tuple[Mark, ...] = Mark.__args__  # pyrefly: ignore[missing-attribute]

# but not the replacements in a copy
_EMAIL = re.compile(
    r"(?<![\w.+-])(?!address\d+@example\.invalid\b)[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"
)
_DIGITS = re.compile(r"(?<![\w.])\d(?:[ -]?\d){11,18}(?![\w.])")
_HOME = re.compile(
    r"(?:/home/|/Users/|/root/|\b[A-Za-z]:[\\/]+Users[\\/]+)(?!user\d*(?:[/\\\s]|$))[^/\\\s]", re.IGNORECASE
)
_URL_HOST = re.compile(
    r"(?<!\w)(?!node:)[a-z][a-z0-9+.-]{1,15}://(?!localhost\b|host\d+(?:[/:]|$))[^\s/?#]+", re.IGNORECASE
)
_IPV4 = re.compile(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])")
_LAST_PARTS = (
    "com", "org", "net", "io", "dev", "app", "cloud", "info", "biz", "gov", "edu", "local", "internal", "intranet",
    "corp", "lan", "example", "test", "de", "fr", "uk", "nl", "eu", "ch",
)  # fmt: skip
"""Top-level domains of hosts; few enough not to mistake methods for hosts."""

_ENDINGS = tuple(each.encode() for each in _LAST_PARTS)
_HOST = re.compile(
    rf"(?<![\w./$@-])(?!(?:com|org|net|io|node|{'|'.join(registry.package_names())})\.)"
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+"
    rf"(?:{'|'.join(_LAST_PARTS)})"
    r"(?![\w./$-]*[A-Z$])(?![\w.-])"
)
_TOKEN = re.compile(
    r"(?<!\w)(?:sk-[\w-]{8,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{12,}|xox[abprs]-[\w-]{8,}|AKIA[0-9A-Z]{12,}"
    r"|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}|ya29\.[\w-]{16,}|npm_\w{20,}|pypi-[\w-]{20,}|hf_\w{16,})"
    r"|-----BEGIN [A-Z ]+-----|[Bb]earer\s+[\w.~+/-]{12,}"
    r"|(?:password|passwd|secret|token|api[_-]?key)\s*(?:=|:(?!:))\s*(?!token\d+\b)\S{4,}"
    r"|://[^\s/:@]+:[^\s/@]+@"
)
# but not the ABI in the file name of a module in C, which begins with the interpreter's name and version
_RUN = re.compile(rf"(?<![A-Za-z0-9+_-])(?!{sys.implementation.name}-\d+)[A-Za-z0-9+_-]{{20,}}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?[0-9a-fA-F]{24,}(?![0-9A-Za-z])")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_LEAST_BITS = 3.4
_LEAST_CHANGES = 0.35
"""The least share of characters in a random text that differ in kind from the previous one."""

_MOST_CHARACTERS = 4096
_LEAST_RANDOM = 20
_BETWEEN, _NO_NAME_S = "\0", "\1"


def marked(texts: Sequence[str]) -> dict[str, tuple[Mark, ...]]:
    """The texts that may reveal something, each with what it may reveal."""
    if not texts:
        return {}
    joined = _BETWEEN.join(texts)
    if joined.count(_BETWEEN) >= len(texts):
        joined = _BETWEEN.join(text.replace(_BETWEEN, _NO_NAME_S) for text in texts)
    found = np.zeros(len(texts), np.uint8)
    revealing.find(joined.encode("utf-8", "surrogatepass"), _ENDINGS, found)
    judged = ((texts[row], tuple(marks_of(texts[row]))) for row in np.flatnonzero(found).tolist())
    return {text: marks for text, marks in judged if marks}


def marks_of(text: str) -> list[Mark]:
    """The kinds of sensitive data in a text; most names have none."""
    text = text[:_MOST_CHARACTERS]
    found: list[Mark] = []
    if "@" in text and _EMAIL.search(text):
        found.append("email")
    if _DIGITS.search(text) and any(passes_luhn(each[0]) for each in _DIGITS.finditer(text)):
        found.append("card")
    if _HOME.search(text):
        found.append("home")
    if ("://" in text and _URL_HOST.search(text)) or (
        "." in text and (_IPV4.search(text) or _HOST.search(text))
    ):
        found.append("host")
    if _TOKEN.search(text):
        found.append("token")
    if len(text) >= _LEAST_RANDOM and is_random(text):
        found.append("random")
    return found


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others, as in card numbers."""
    numbers = [int(each) for each in digits if each.isdigit()]
    doubled = [each if place % 2 == 0 else (each * 2 - 9 if each > 4 else each * 2)
               for place, each in enumerate(reversed(numbers))]  # fmt: skip
    return sum(doubled) % 10 == 0 and any(numbers)


def is_random(text: str) -> bool:
    """Whether a long part of a text looks like a key or a hash, and not like words."""
    if _DIGIT.search(text) is None:
        return False
    if _UUID.search(text) or any(_is_mixed(each[0].removeprefix("0x")) for each in _HEX.finditer(text)):
        return True
    return any(_is_unlike_words(each[0]) for each in _RUN.finditer(text))


def _is_mixed(digits: str) -> bool:
    return any(each.isalpha() for each in digits) and any(each.isdigit() for each in digits)


def _is_unlike_words(run: str) -> bool:
    kinds = [
        "d" if each.isdigit() else "u" if each.isupper() else "l" if each.islower() else "o" for each in run
    ]
    if "d" not in kinds or ("u" not in kinds and "l" not in kinds):
        return False
    # a capital letter before small letters starts a word
    changes = sum(one != other and (one, other) != ("u", "l") for one, other in itertools.pairwise(kinds))
    counts = Counter(run)
    bits = -sum(count / len(run) * math.log2(count / len(run)) for count in counts.values())
    return bits >= _LEAST_BITS and changes / len(run) >= _LEAST_CHANGES
