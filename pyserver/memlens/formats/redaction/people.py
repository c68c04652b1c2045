"""What texts of a profile say about people and machines: home folders, hosts, e-mail addresses, what URLs ask for, and
keys and passwords that look like ones.
"""

import re

_HOME = re.compile(
    r"(/(?:home|Users|export/home|usr/home)/|\b[A-Za-z]:[\\/]+(?:Users|Documents and Settings)[\\/]+)([^/\\\s:\"']+)",
    re.IGNORECASE,
)
_SHARED = frozenset(("shared", "public", "user"))
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_URL = re.compile(
    r"\b([A-Za-z][A-Za-z0-9+.-]{1,15}://)([^\s/?#\"']*)([^\s?#\"']*)(\?[^\s#\"']*)?(#[^\s\"']*)?"
)
_DATA = re.compile(r"(?<![\w$])(data:[\w$+./-]*)(?=[,;])[^,]*,.+", re.DOTALL)
"""An address that is all of a script or a page."""
_ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_LOCAL_HOST = re.compile(
    r"(?<![\w./@-])(?:[a-z0-9-]{1,63}\.){1,5}(?:internal|intranet|local|lan|corp|home)\b(?![.\w-])"
)
_TOKEN = re.compile(
    r"(?<!\w)(?:sk-[\w-]{8,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{12,}|xox[abprs]-[\w-]{8,}|AKIA[0-9A-Z]{12,}"
    r"|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]+)?|ya29\.[\w-]{16,}|npm_\w{20,}|pypi-[\w-]{20,}|hf_\w{16,})"
    r"|(?<=[Bb]earer )[\w.~+/-]{12,}"
    r"|(?<![\w:])((?i:\w*_)?(?i:password|passwd|secret|token|api[_-]?key)\s*(?:=|:(?!:))\s*)[^\s,;&\"']{4,}"
)
_THIS_MACHINE = re.compile(r"(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1\])?(?::\d+)?")


class People:
    """Replaces them: the same name by the same word wherever it stands."""

    def __init__(self) -> None:
        self._words: dict[tuple[str, str], str] = {}
        self.texts = 0
        """How many texts were changed."""

    def replaced(self, text: str) -> str:
        """The text without them."""
        new = _TOKEN.sub(lambda found: (found[1] or "") + self._word("token", found[0]), text)
        if not any(each in text for each in ("/", "\\", "@", ".", "data:")):
            self.texts += new != text
            return new
        new = _DATA.sub(r"\1,removed", new)
        new = _HOME.sub(self._home, new)
        new = _URL.sub(self._url, new) if "://" in new else new
        new = _EMAIL.sub(lambda found: f"{self._word('address', found[0])}@example.invalid", new)
        new = _ADDRESS.sub(lambda found: self._host(found[0]), new)
        new = _LOCAL_HOST.sub(lambda found: self._host(found[0]), new)
        self.texts += new != text
        return new

    def _home(self, found: re.Match[str]) -> str:
        return found[1] + (found[2] if found[2].lower() in _SHARED else self._word("user", found[2]))

    def _url(self, found: re.Match[str]) -> str:
        return (
            found[1]
            + self._host(found[2])
            + found[3]
            + ("?removed" if found[4] else "")
            + ("#removed" if found[5] else "")
        )

    def _host(self, host: str) -> str:
        return host if _THIS_MACHINE.fullmatch(host) else self._word("host", host)

    def _word(self, kind: str, name: str) -> str:
        of_kind = sum(each == kind for each, _ in self._words) if (kind, name) not in self._words else 0
        return self._words.setdefault((kind, name), f"{kind}{of_kind + 1}")


def without_arguments(command: str) -> str:
    """The program of a command line, without what it was given."""
    program, _, arguments = command.strip().partition(" ")
    return f"{program} (arguments removed)" if arguments else program
