"""The program's own project, inferred from where its stacks begin: a check on the rules of libraries.

The rules name libraries, so that what none of them names counts as the program's own. This asks the file itself: the
*project* of a frame is the folder of its file below the places where people and machines keep projects
(``/home/me/src/ledger``), a repository in a path or import path (``github.com/acme/ledger``), the crate of a Rust
function whose file has no absolute path, or the package of a class (``com.acme``). The program's own projects are
those in which stacks begin: of their outermost frames that no rule names, a quarter or more, or one that is called
``main``. A frame that no rule names in another project is the program's own only *probably*.

C and C++ have no package manager's folders that would tell a library. There, what the program's own code never calls
but through libraries, and where no stack begins, as a plugin that Qt loads, is a library compiled from its sources.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from memlens.arrays import F64, I64, U32, Mask
from memlens.model.distinct import among, distinct
from memlens.model.frames import USER
from memlens.model.libraries import canonical, qualified
from memlens.model.profile import StackTree
from memlens.packs import registry
from memlens.result_cache import remembered

LEAST_OF_BEGINNINGS = 0.25
"""A project in which so much of the stacks' weight begins is the program's own."""
MOST_DIRECT = 0.01
"""So many of a library's places may be called by the program's own code: an inlined function leaves no frame."""

_HOMES = frozenset(("home", "users", "user"))
"""Folders with a person's folder in each."""
_PLACES = frozenset((
    "root", "work", "runner", "projects", "project", "src", "source", "sources", "code", "dev", "develop",
    "development", "git", "repos", "repo", "workspace", "workspaces", "github", "gitlab", "documents",
    "desktop", "downloads", "build", "tmp", "opt", "srv", "mnt", "data", "go", "usr", "local", "var", "mount",
    "media", "scratch", "export", "volumes", "private", "vagrant",
))  # fmt: skip
"""Folders in which projects are kept, rather than projects."""
_INNER = frozenset((
    "scripts", "script", "tests", "test", "lib", "libs", "cmd", "internal", "pkg", "bin", "examples",
    "include", "apps", "services",
))  # fmt: skip
"""Folders within a project, which is then the one above."""
_HOSTS = re.compile(r"^(?:github|gitlab|bitbucket|codeberg|gitee|gopkg|git|code)\.[a-z.]+$")
_DRIVE = re.compile(r"^[A-Za-z]:/")
_ORIGIN = re.compile(r"^(?P<origin>[a-z][\w+.-]*://[^/]*)/")
_COMPILED = (
    ".c",
    ".cc",
    ".cpp",
    ".cxx",
    ".h",
    ".hh",
    ".hpp",
    ".hxx",
    ".inl",
    ".tcc",
    ".m",
    ".mm",
    ".cu",
    ".cuh",
)
_PACKAGED = registry.packaged_suffixes()
_DOMAINS = frozenset((
    "com", "org", "net", "io", "de", "edu", "gov", "co", "uk", "fr", "me", "dev", "ai", "app", "eu", "ch",
    "jp", "cn",
))  # fmt: skip
_MAIN = re.compile(r"(?:^|[.:])(?:w?main|Main|wWinMain|WinMain|<module>)$")
_NOT_OWN = -1
_MOST_FOLDERS, _MOST_END = 32, 512
"""The most folders and characters of an end of a path: one with thousands of folders has as many ends."""
_CELLS = re.compile(r"/ipykernel_\d+/|^<")


@remembered(1 << 15)
def _of_path(file: str) -> str:
    """Return the project of an absolute path, or of one that begins with a host; empty if it can't be known."""
    path = _plain(file)
    origin = _ORIGIN.match(file.removeprefix("file://"))
    if origin is not None or _CELLS.search(path):
        return origin["origin"] if origin is not None else ""
    is_absolute = path.startswith("/") or _DRIVE.match(path) is not None
    folders = path.split("/")[:-1]
    depth = 1 if is_absolute else 0
    while depth < len(folders):
        name = folders[depth].lower()
        if _HOSTS.match(name):
            # host, owner and repository
            return "/".join(folders[: depth + 3])
        if name not in _HOMES and name not in _PLACES:
            break
        depth += 2 if name in _HOMES else 1
    if not is_absolute and not (depth == 0 and path.endswith(".go")):
        return ""
    is_inner = depth < len(folders) and folders[depth].lower() in _INNER
    return "/".join(folders[: depth if is_inner else depth + 1]) or "/"


def _plain(file: str) -> str:
    return canonical(file.replace("\\", "/").removeprefix("file://"))


def project_of(file: str, function: str) -> str:
    """Return the project that a frame's file and function belong to; empty if they don't say."""
    if file.endswith(_PACKAGED):
        package = [name for name in function.split(".")[:-1] if not name[:1].isupper()]
        return f"package {'.'.join(package[: 2 if package[0] in _DOMAINS else 1])}" if package else ""
    path = _of_path(file)
    if file.endswith(".rs") and not path:
        crates = qualified(function, rust=True)
        return f"crate {crates.removeprefix('rust:').split(',')[0]}" if crates.startswith("rust:") else ""
    return path


class OwnFrames:
    """The frames that no rule names, with their projects, in the tree of all stacks.

    ``frames`` are the file, function and kind of each frame; the stacks end at ``nodes`` of the tree, and ``weights``
    has the amount of each.
    """

    def __init__(
        self,
        tree: StackTree,
        nodes: U32,
        weights: F64,
        frames: Iterable[tuple[str, str, int]],
    ) -> None:
        rows = list(frames)
        self._files, self._functions = [file for file, _, _ in rows], [function for _, function, _ in rows]
        self._weights = weights
        self._tree, self._nodes = tree, nodes
        own = [number for number, (_, _, kind) in enumerate(rows) if kind == USER]
        projects = {number: project_of(*rows[number][:2]) for number in own}
        by_folder = _by_folder((self._files[number], project) for number, project in projects.items())
        names = {"": 0}
        self._project = np.full(len(rows), _NOT_OWN, np.int64)
        for number, project in projects.items():
            known = project or by_folder.get(_folder_of(self._files[number]), "")
            self._project[number] = names.setdefault(known, len(names))
        self._names = list(names)

    @functools.cached_property
    def root(self) -> frozenset[str]:
        """The projects in which stacks begin; empty where no stack says."""
        if len(self._names) <= 2:
            return frozenset(self._names[1:])
        at, _, first = self._places
        begin = first[self._nodes]
        of_begin = at[begin]
        is_known = of_begin > 0
        sums = np.bincount(of_begin[is_known], self._weights[is_known], len(self._names))
        are_own = (sums > 0) & (sums >= LEAST_OF_BEGINNINGS * sums.sum())
        first_frames = self._tree.frames[begin[is_known & (self._weights > 0)]]
        for number in distinct(first_frames).tolist():
            if _MAIN.search(qualified(self._functions[number])):
                are_own[self._project[number]] = True
        return frozenset(self._names[number] for number in np.flatnonzero(are_own).tolist())

    def doubtful(self) -> Mask:
        """Return a mask of the frames that no rule names, of another project than the program's own."""
        return among(self._project, np.array(self._others, np.int64))

    @functools.cached_property
    def _others(self) -> list[int]:
        """The projects that are neither the program's own nor within one of these."""
        # none of these is within another, so that the last one up to a name is the only one that it may be within
        own: list[str] = []
        for each in sorted(f"{project.rstrip('/')}/" for project in self.root):
            if not own or not each.startswith(own[-1]):
                own.append(each)
        ends = [f"{name}/" for name in self._names]
        return [
            number
            for number, name in enumerate(self._names)
            if own and name and not ends[number].startswith(own[max(bisect_right(own, ends[number]) - 1, 0)])
        ]

    def compiled_libraries(self) -> Mask:
        """Return a mask of the frames of C and C++ in libraries that were compiled from their sources.

        Of the places where a stack enters a library's code one in a hundred may be at its beginning, or called by the
        program's own code directly.
        """
        others, count = np.array(self._others, np.int64), len(self._names)
        if not len(others):
            return np.zeros(len(self._files), np.bool_)
        is_compiled = np.array([file.lower().endswith(_COMPILED) for file in self._files], np.bool_)
        has_others = np.bincount(self._project[~is_compiled & (self._project >= 0)], minlength=count) > 0
        at, caller, _ = self._places
        is_entered = (at > 0) & (at[caller] != at)
        is_direct = (caller == 0) | (caller == self._tree.parents)
        entered = np.bincount(at[is_entered], minlength=count)
        direct = np.bincount(at[is_entered & is_direct], minlength=count)
        is_library = ~has_others & (direct <= MOST_DIRECT * entered)
        return among(self._project, others[is_library[others]])

    @functools.cached_property
    def _places(self) -> tuple[I64, U32, U32]:
        """For each node of the tree the project, the nearest own frame's node above it, and the first one's.

        0 stands for none: the tree's root has no frame.
        """
        numbers = np.arange(len(self._tree.frames), dtype=np.uint32)
        frames = np.minimum(self._tree.frames, len(self._files))
        at = np.append(self._project, _NOT_OWN)[frames]
        at[:1] = _NOT_OWN
        parents = np.where(numbers == 0, 0, self._tree.parents).astype(np.uint32)
        nearest = _followed(np.where(at == _NOT_OWN, parents, numbers))
        caller = nearest[parents]
        return at, caller, _followed(np.where(caller == 0, numbers, caller))[nearest]


def _folder_of(file: str) -> str:
    return _plain(file).rpartition("/")[0]


def _by_folder(known: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The project of each end of a folder's path that only one project has: a build's relative paths are such ends."""
    found: dict[str, str] = {}
    for folder, project in {(_folder_of(file), project) for file, project in known if project}:
        names = folder.strip("/").split("/")
        for at in range(max(0, len(names) - _MOST_FOLDERS), len(names)):
            end = "/".join(names[at:])
            if len(end) <= _MOST_END:
                found[end] = project if found.get(end, project) == project else ""
    return found


def _followed(links: U32) -> U32:
    """Where links lead that are followed to their ends; an end links to itself."""
    links = links.astype(np.uint32)
    links[:1] = 0
    while True:
        further = links[links]
        if np.array_equal(further, links):
            return links
        links = further
