"""Locates sources and classes of Java libraries on this machine."""

import os
from collections.abc import Mapping
from pathlib import Path

from memlens.programs import program
from memlens.sources.archives import FIRST

_OF_JDKS = "src.zip"
_SOURCE = ("lib/src.zip", "src.zip", "../src.zip")


def caches(environment: Mapping[str, str]) -> list[Path]:
    """Return the download folders of Maven, Gradle and Coursier, whether or not they exist."""
    home = Path.home()
    gradle = Path(environment.get("GRADLE_USER_HOME") or home / ".gradle")
    return [
        home / ".m2" / "repository",
        gradle / "caches" / "modules-2" / "files-2.1",
        home / ".cache" / "coursier" / "v1",
        home / "Library" / "Caches" / "Coursier" / "v1",
    ]


def java_homes(environment: Mapping[str, str]) -> list[Path]:
    """The Java installations that ``JAVA_HOME`` and ``PATH`` name."""
    java = program("java", environment.get("PATH"))
    named = [Path(environment["JAVA_HOME"])] if environment.get("JAVA_HOME") else []
    return named + ([Path(os.path.realpath(java)).parent.parent] if java else [])


def of_source(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders with source archives, of build tools and of JDKs."""
    return [*caches(environment), *(jdk / place for jdk in java_homes(environment) for place in _SOURCE)]


def of_classes(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders with class archives, of build tools."""
    return caches(environment)


def likeness(archive: Path, package: str) -> int:
    """How many leading components of a package's name are folders in an archive's path, as in its Maven group.

    What is a JDK's comes first for the packages of the JDK, and last for others.
    """
    if archive.name == _OF_JDKS:
        return FIRST - 1 if package.startswith(("java.", "javax.", "jdk.", "sun.", "com.sun.")) else 0
    folders = ".".join(archive.parent.parts)
    parts = package.split(".")
    return next((n for n in range(len(parts), 0, -1) if f".{'.'.join(parts[:n])}." in f".{folders}."), 0)
