"""The platforms that packages are built for, by their names in VS Code's marketplace."""

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / ".cache" / "package"
"""Downloads, unfinished packages, and the tools' environment."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions of CPython whose binaries of the libraries are in every package."""


@dataclass(frozen=True)
class Target:
    """A platform."""

    name: str
    zig: str
    """The compiler's target triple, with the oldest system that its kernels run on."""
    wheel: str
    """The platform tag of its wheels of memlens."""
    accepted: tuple[str, ...]
    """The platform tags of the libraries' wheels that run there, the oldest systems first."""
    format: str
    """elf, macho or pe."""
    machine: str
    """x86_64 or aarch64."""

    @property
    def suffix(self) -> str:
        """The suffix of a kernel's file name."""
        return ".pyd" if self.format == "pe" else ".abi3.so"


def _manylinux(machine: str) -> tuple[str, ...]:
    """Up to glibc 2.28, which VS Code itself needs."""
    names = [f"manylinux_2_{minor}" for minor in range(5, 29)]
    return tuple(f"{name}_{machine}" for name in (*names, "manylinux1", "manylinux2010", "manylinux2014"))


def _macos(machine: str, first: tuple[int, int]) -> tuple[str, ...]:
    """Up to macOS 11; builds for both processors count as well."""
    versions = [(10, minor) for minor in range(9, 16)] + [(11, 0)]
    own = tuple(f"macosx_{major}_{minor}_{machine}" for major, minor in versions if (major, minor) >= first)
    return own + tuple(f"macosx_{major}_{minor}_universal2" for major, minor in versions)


def _musllinux(machine: str) -> tuple[str, ...]:
    return tuple(f"musllinux_1_{minor}_{machine}" for minor in range(3))


TARGETS = {
    target.name: target
    for target in (
        Target(
            "linux-x64",
            "x86_64-linux-gnu.2.17",
            "manylinux2014_x86_64",
            _manylinux("x86_64"),
            "elf",
            "x86_64",
        ),
        Target(
            "linux-arm64",
            "aarch64-linux-gnu.2.17",
            "manylinux2014_aarch64",
            _manylinux("aarch64"),
            "elf",
            "aarch64",
        ),
        Target(
            "alpine-x64", "x86_64-linux-musl", "musllinux_1_2_x86_64", _musllinux("x86_64"), "elf", "x86_64"
        ),
        Target(
            "alpine-arm64",
            "aarch64-linux-musl",
            "musllinux_1_2_aarch64",
            _musllinux("aarch64"),
            "elf",
            "aarch64",
        ),
        Target(
            "darwin-x64",
            "x86_64-macos.11.0",
            "macosx_11_0_x86_64",
            _macos("x86_64", (10, 9)),
            "macho",
            "x86_64",
        ),
        Target(
            "darwin-arm64",
            "aarch64-macos.11.0",
            "macosx_11_0_arm64",
            _macos("arm64", (11, 0)),
            "macho",
            "aarch64",
        ),
        Target("win32-x64", "x86_64-windows-gnu", "win_amd64", ("win_amd64",), "pe", "x86_64"),
        Target("win32-arm64", "aarch64-windows-gnu", "win_arm64", ("win_arm64",), "pe", "aarch64"),
    )
}


def here() -> str:
    """Return the name of the platform that this runs on."""
    machine = "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x64"
    if sys.platform == "win32":
        return f"win32-{machine}"
    if sys.platform == "darwin":
        return f"darwin-{machine}"
    return f"alpine-{machine}" if Path("/etc/alpine-release").exists() else f"linux-{machine}"


def chosen(word: str) -> list[Target]:
    """Return the targets that ``--target`` names: one, several separated by commas, or all."""
    names = list(TARGETS) if word == "all" else word.split(",")
    if unknown := [name for name in names if name not in TARGETS]:
        raise SystemExit(
            f"There is no platform {', '.join(unknown)}; there are {', '.join(TARGETS)}, and all."
        )
    return [TARGETS[name] for name in names]
