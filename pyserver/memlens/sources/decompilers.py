"""Decompiles classes with a decompiler that the user has: CFR, Vineflower or FernFlower, run by the user's Java.

Nothing is downloaded. A decompiler gets files whose names are checked, in a folder of its own, and no other words of a
dump or an archive.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cachetools import LRUCache

from memlens import local_paths
from memlens.errors import MemlensError
from memlens.sources import zips
from memlens.sources.archives import DAMAGED, version_key
from memlens.sources.class_archives import IMAGE, Classes, classes_of
from memlens.sources.declarations import TEXT_LIMIT
from memlens.sources.places import caches, java_homes
from memlens.texts import Text, phrase

_MOST_S = 60.0
"""How long a decompiler may take for a class."""
_POLLED_S = 0.05
_KEPT_CHARACTERS = 8 << 20
_KEPT_ERRORS = 2_000
_JAVA_OPTIONS = ("-Xmx1g", "-XX:+UseSerialGC", "-Djava.awt.headless=true", "-Dfile.encoding=UTF-8")
_UNWANTED = ("CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Variables with options of other programs, such as agents."""
_TOO_OLD = "UnsupportedClassVersionError"
_JAVA = "java.exe" if sys.platform == "win32" else "java"

_LIBRARIES = (("org.vineflower", "vineflower"), ("org.benf", "cfr"))
"""Groups and names of decompilers in the caches of build tools, the preferred first."""
_NOT_PROGRAMS = re.compile(r".*-(?:sources|javadoc)\.jar")
_IN_IDE = "plugins/java-decompiler/lib/java-decompiler.jar"
_IN_EXTENSION = "server/plugins/*java-decompiler-engine*.jar"


class DecompilerError(MemlensError):
    """A class can't be decompiled."""

    code = "decompiler"
    advice = phrase("The setting memlens.java.decompiler names the jar of CFR or Vineflower.")


class _Program(NamedTuple):
    """A decompiler, which is known by its main class, and how it is run."""

    main: str
    arguments: Callable[[Path, Path, str], list[str]]
    """Of the folders for class files and for source, and of the file of the class below the first."""
    library: Callable[[Path], list[str]]
    """That name the archive in which it finds other classes."""


_PROGRAMS = (
    _Program(
        "org.benf.cfr.reader.Main",
        lambda classes, source, file: [str(classes / file), "--outputdir", str(source), "--silent", "true"],
        lambda archive: ["--extraclasspath", str(archive)],
    ),
    _Program(
        "org.jetbrains.java.decompiler.main.decompiler.ConsoleDecompiler",
        # FernFlower leaves type parameters out unless it is told not to
        lambda classes, source, _file: ["-dgs=1", str(classes), str(source)],
        lambda archive: [f"-e={archive}"],
    ),
)
"""Vineflower is a fork of FernFlower and is run as that is."""


class Tools(NamedTuple):
    """What the settings say of decompilers. ``extension`` is the folder of VS Code's Java extension, which has both."""

    jar: Path | None
    java_home: Path | None
    extension: Path | None


class Decompiled(NamedTuple):
    """Source made of a class file."""

    text: str
    by: str
    """The jar of the decompiler."""


class Decompilers:
    """The decompilers that the user has. ``tools`` returns what the settings say."""

    def __init__(self, tools: Callable[[], Tools]) -> None:
        self._tools = tools
        self._kept: LRUCache[object, Decompiled] = LRUCache(
            _KEPT_CHARACTERS, getsizeof=lambda made: min(len(made.text), _KEPT_CHARACTERS)
        )
        self._one_at_a_time = threading.Lock()

    def decompile(self, archive: Path, member: str, stop: threading.Event) -> Decompiled:
        """The source of a class in an archive; blocks. An event that is set ends it early.

        Raises :class:`DecompilerError`.
        """
        with self._one_at_a_time:
            try:
                tools = self._tools()
                changed = archive / member if archive.is_dir() else archive
                key = (archive, changed.stat().st_mtime_ns, member, tools)
                if key not in self._kept:
                    self._kept[key] = _decompiled(tools, archive, classes_of(archive, member), stop)
                return self._kept[key]
            except (*DAMAGED, KeyError) as error:
                raise DecompilerError(
                    phrase(
                        "{member} of {archive} can't be read ({reason})",
                        member=member,
                        archive=archive,
                        reason=str(error),
                    )
                ) from error


def _decompiled(tools: Tools, archive: Path, classes: Classes, stop: threading.Event) -> Decompiled:
    problem = None
    javas = list(java_programs(tools, os.environ))
    for jar in jars(tools, os.environ):
        program = _program_of(jar)
        if program is None:
            problem = phrase("{jar} is neither CFR nor Vineflower or FernFlower", jar=jar)
            continue
        for java in javas:
            text, errors = _run(java, jar, program, archive, classes, stop)
            if text:
                return Decompiled(text, jar.name)
            if stop.is_set():
                raise DecompilerError(phrase("Decompiling was stopped"))
            problem = phrase(
                "{jar}, run by {java}, made no source: {errors}", jar=jar, java=java, errors=errors
            )
            if _TOO_OLD not in errors:
                break
    raise DecompilerError(problem if problem is not None and javas else _lacking(javas))


def _lacking(javas: list[Path]) -> Text:
    if not javas:
        return phrase(
            "Decompiling needs Java, and none was found through JAVA_HOME, the PATH or the setting "
            "java.jdt.ls.java.home"
        )
    return phrase(
        "No decompiler was found: neither CFR nor Vineflower in Maven's, Gradle's and Coursier's caches, nor "
        "FernFlower in a JetBrains IDE or the Java extension"
    )


def jars(tools: Tools, environment: Mapping[str, str]) -> Iterator[Path]:
    """The decompiler that the settings name; else those that are found, the newest of each first."""
    if tools.jar is not None:
        yield tools.jar
        return
    for group, name in _LIBRARIES:
        for cache in caches(environment):
            folders = group.replace(".", "/")
            places = (
                f"{folders}/{name}/*",  # Maven
                f"{group}/{name}/*/*",  # Gradle
                f"https/*/maven2/{folders}/{name}/*",  # Coursier
                f"https/*/{folders}/{name}/*",
            )
            found = [jar for place in places for jar in cache.glob(f"{place}/{name}-*.jar")]
            yield from _newest(jar for jar in found if not _NOT_PROGRAMS.fullmatch(jar.name))
    if tools.extension is not None:
        yield from _newest(tools.extension.glob(_IN_EXTENSION))
    for place, pattern in _ides(environment):
        yield from _newest(place.glob(f"{pattern}/{_IN_IDE}"))


def _ides(environment: Mapping[str, str]) -> list[tuple[Path, str]]:
    """Folders, and patterns below each, where IDEs of JetBrains and Android Studio may be installed."""
    home = Path.home()
    folders = [
        (Path("/opt"), "*"),
        (Path("/snap"), "*/current"),
        (home / ".local/share/JetBrains/Toolbox/apps", "*"),
        (Path("/Applications"), "*.app/Contents"),
        (home / "Applications", "*.app/Contents"),
    ]
    for variable, below in (
        ("ProgramFiles", "JetBrains"),
        ("ProgramFiles", "Android"),
        ("LOCALAPPDATA", "Programs"),
    ):
        if environment.get(variable):
            folders.append((Path(environment[variable]) / below, "*"))
    return folders


def java_programs(tools: Tools, environment: Mapping[str, str]) -> Iterator[Path]:
    """The Javas that may run a decompiler: of the settings, of ``JAVA_HOME``, of ``PATH``, of the Java extension."""
    homes = [tools.java_home] if tools.java_home is not None else []
    homes += java_homes(environment)
    homes += sorted(tools.extension.glob("jre/*")) if tools.extension is not None else []
    yield from dict.fromkeys(java for home in homes if (java := home / "bin" / _JAVA).is_file())


def _newest(found: Iterable[Path]) -> list[Path]:
    return sorted(found, key=lambda jar: version_key(jar.name), reverse=True)


def _program_of(jar: Path) -> _Program | None:
    with contextlib.suppress(*DAMAGED), zips.opened(jar) as opened:
        names = set(opened.namelist())
        return next((each for each in _PROGRAMS if f"{each.main.replace('.', '/')}.class" in names), None)
    return None


def _run(
    java: Path, jar: Path, program: _Program, archive: Path, classes: Classes, stop: threading.Event
) -> tuple[str, str]:
    """The source that a decompiler makes of a class; if that is empty, what the decompiler said."""
    with tempfile.TemporaryDirectory(prefix="memlens-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        source = folder / "source"
        *package, _ = classes.name.split("/")
        places = {
            local_paths.below(folder, ["classes", *package, file]): data
            for file, data in classes.files.items()
        }
        source.mkdir()
        for place, data in places.items():
            if place is None:
                return "", ""
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        # FernFlower makes nothing of a class that a folder of libraries has as well
        library = program.library(archive) if archive.is_file() and archive.name != IMAGE else []
        command = [str(java), *_JAVA_OPTIONS, "-cp", str(jar), program.main, *library,
                   *program.arguments(folder / "classes", source, f"{classes.name}.class")]  # fmt: skip
        errors = _ended(command, folder, stop)
        made = sorted(each for each in source.rglob("*") if each.is_file())
        text = made[0].read_bytes()[:TEXT_LIMIT].decode("utf-8", "replace") if made else ""
    return text, errors


def _ended(command: list[str], folder: Path, stop: threading.Event) -> str:
    """Runs a command to its end and returns what it said last."""
    environment = {name: text for name, text in os.environ.items() if name not in _UNWANTED}
    said = folder / "said"
    with said.open("wb") as output:
        try:
            # the user chose the programs; no shell is involved, and names of files are checked
            child = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder, env=environment
            )
        except OSError as error:
            return str(error)
        deadline = time.monotonic() + _MOST_S
        try:
            while child.poll() is None:
                if time.monotonic() > deadline:
                    return f"it took more than {_MOST_S:.0f} s"
                if stop.wait(_POLLED_S):
                    return ""
        finally:
            child.kill()
            child.wait()
    return said.read_bytes()[-_KEPT_ERRORS:].decode("utf-8", "replace").strip()
