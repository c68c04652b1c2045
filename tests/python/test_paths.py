"""Foreign paths and local files: which file is meant, and when that can't be known."""

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlens.sources.paths import best_matches, common_components, mapped, parse

NAMES = st.text(st.sampled_from("abcXYZ019._- é"), min_size=1, max_size=8).filter(
    lambda name: name.strip(".") != "" and name == name.strip()
)
FOLDERS = st.lists(NAMES, max_size=6)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<string>",
        "<frozen importlib._bootstrap>",
        "??",
        "/",
        "C:\\",
        "a/",
        "\0x",
        "http://localhost:5173/?a.js",
        "http://localhost/%00.js",
    ],
)
def test_texts_that_are_not_paths(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "windows", "anchor", "parts"),
    [
        ("/home/ann/train.py", False, "/", ("home", "ann", "train.py")),
        ("train.py", False, "", ("train.py",)),
        ("./src/../train.py", False, "", ("train.py",)),
        ("../../train.py", False, "", ("train.py",)),
        ("C:\\Users\\Ann\\train.py", True, "C:\\", ("Users", "Ann", "train.py")),
        ("c:/Users/Ann/train.py", True, "c:\\", ("Users", "Ann", "train.py")),
        ("src\\model.py", True, "", ("src", "model.py")),
        ("\\\\host\\share\\x\\train.py", True, "\\\\host\\share\\", ("x", "train.py")),
        ("/odd\\name/train.py", False, "/", ("odd\\name", "train.py")),
        ("http://localhost:5173/src/a%20b.js?t=1/x#y", False, "http://localhost:5173/", ("src", "a b.js")),
        ("https://Example.com/%2e%2e/x/..%5Capp.js", False, "https://example.com/", ("app.js",)),
    ],
)
def test_paths_are_parsed(text: str, windows: bool, anchor: str, parts: tuple[str, ...]) -> None:
    foreign = parse(text)
    assert foreign is not None
    assert (foreign.windows, foreign.anchor, foreign.parts) == (windows, anchor, parts)


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("/usr/lib/python3.12/asyncio/base_events.py", True),
        ("/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py", True),
        ("C:\\Python311\\Lib\\threading.py", True),
        ("torch/nn/modules/module.py", True),
        ("/home/ann/lib/train.py", False),
        ("/home/ann/torch/train.py", False),
    ],
)
def test_library_files_are_known(text: str, library: bool) -> None:
    foreign = parse(text)
    assert foreign is not None
    assert foreign.library is library


def test_urls_are_mapped_by_their_origin() -> None:
    foreign = parse("http://localhost:5173/app/src/a.js?v=2")
    assert foreign is not None
    assert foreign.served_here
    folders = {"http://localhost:5173": Path("/w"), "http://localhost:5173/app/": Path("/w/app")}
    assert mapped(foreign, folders) == [Path("/w/app/src/a.js"), Path("/w/app/src/a.js")]
    assert (
        mapped(foreign, {"http://localhost:80/": Path("/w"), "http:": Path("/w"), "/app": Path("/w")}) == []
    )
    elsewhere = parse("https://example.com/src/a.js")
    assert elsewhere is not None
    assert not elsewhere.served_here


def matches(foreign: str, *candidates: str) -> list[str]:
    parsed = parse(foreign)
    assert parsed is not None
    return best_matches(parsed, candidates).paths


def test_the_longest_common_end_wins() -> None:
    assert matches(
        "/home/ann/project/models/net.py",
        "/work/models/net.py",
        "/work/old/net.py",
        "/work/project/models/net.py",
    ) == ["/work/project/models/net.py"]


def test_a_tie_returns_all_candidates() -> None:
    assert matches("/job/code/train.py", "/w/b/train.py", "/w/a/train.py") == [
        "/w/a/train.py",
        "/w/b/train.py",
    ]


def test_case_matters_except_on_windows() -> None:
    assert matches("/x/Train.py", "/w/train.py") == []
    assert matches("C:\\x\\Train.py", "/w/train.py") == ["/w/train.py"]


@pytest.mark.parametrize(
    "foreign",
    [
        "/venv/lib/python3.12/site-packages/torch/utils.py",
        "/usr/lib/python3.12/utils.py",
    ],
)
def test_a_library_file_is_not_matched_by_its_name_alone(foreign: str) -> None:
    assert matches(foreign, "/work/utils.py") == []


def test_a_library_that_is_developed_here_is_found() -> None:
    foreign = "/venv/lib/python3.12/site-packages/mylib/core.py"
    assert matches(foreign, "/work/mylib/core.py", "/work/other/core.py") == ["/work/mylib/core.py"]


def test_common_file_names_need_a_matching_folder() -> None:
    assert matches("/a/pkg/__init__.py", "/work/other/__init__.py") == []
    assert matches("/a/pkg/__init__.py", "/work/pkg/__init__.py") == ["/work/pkg/__init__.py"]


@given(folders=FOLDERS, name=NAMES, own=FOLDERS)
def test_a_moved_project_is_found_again(folders: list[str], name: str, own: list[str]) -> None:
    """For any common part, moving it elsewhere keeps all of its components."""
    foreign = parse(str(PurePosixPath("/foreign", *folders, name)))
    assert foreign is not None
    assert common_components(foreign, str(PurePosixPath("/here", *own, *folders, name))) >= len(folders) + 1


@given(folders=FOLDERS, name=NAMES)
def test_windows_and_posix_spellings_agree(folders: list[str], name: str) -> None:
    windows = parse(str(PureWindowsPath("C:\\", *folders, name.upper())))
    assert windows is not None
    local = str(PurePosixPath("/work", *folders, name))
    shared = common_components(windows, local)
    # Lower and upper case aren't inverse for all characters, so only ASCII is guaranteed.
    if name.isascii() and all(folder.isascii() for folder in folders):
        assert shared >= len(folders) + 1


@given(foreign=FOLDERS, name=NAMES, candidates=st.lists(st.tuples(FOLDERS, st.booleans()), max_size=8))
def test_the_best_matches_are_found(
    foreign: list[str], name: str, candidates: list[tuple[list[str], bool]]
) -> None:
    parsed = parse(str(PurePosixPath("/", *foreign, name)))
    assert parsed is not None
    # some have the name, so that there may be none that fits
    paths = [
        str(PurePosixPath("/w", *folders, name if same else f"other-{name}")) for folders, same in candidates
    ]
    best = best_matches(parsed, paths)
    shared = {path: common_components(parsed, path) for path in paths}
    if best.paths:
        most = max(shared.values())
        assert best.components == most
        assert set(best.paths) == {path for path in paths if shared[path] == most}
    else:
        assert all(count < parsed.needed_components for count in shared.values())


@pytest.mark.slow
@given(text=st.text(max_size=60))
def test_any_text_is_accepted(text: str) -> None:
    foreign = parse(text)
    if foreign is not None:
        assert ".." not in foreign.parts
        best_matches(foreign, ["/work/a.py", "relative.py"])
        mapped(foreign, {text: Path("/work"), "/": Path("/work")})


def test_the_longest_mapping_applies() -> None:
    foreign = parse("/opt/app/src/models/net.py")
    assert foreign is not None
    found = mapped(
        foreign,
        {
            "/opt": Path("/a"),
            "/opt/app/src": Path("/b"),
            "/opt/app": Path("/c"),
            "/other": Path("/d"),
        },
    )
    assert found == [
        Path("/b/models/net.py"),
        Path("/c/src/models/net.py"),
        Path("/a/app/src/models/net.py"),
    ]


def test_a_mapping_ends_between_components() -> None:
    foreign = parse("/home/anna/train.py")
    assert foreign is not None
    assert mapped(foreign, {"/home/ann": Path("/w")}) == []
    assert mapped(foreign, {"/home/anna/": Path("/w")}) == [Path("/w/train.py")]


def test_mappings_of_windows_paths_ignore_case_and_slashes() -> None:
    foreign = parse("C:\\Users\\Ann\\Proj\\train.py")
    assert foreign is not None
    assert mapped(foreign, {"c:/users/ann": Path("/w")}) == [Path("/w/Proj/train.py")]
    assert mapped(foreign, {"D:\\Users\\Ann": Path("/w")}) == []


def test_a_relative_prefix_maps_relative_paths() -> None:
    foreign = parse("src/train.py")
    assert foreign is not None
    assert mapped(foreign, {"src": Path("/w/code")}) == [Path("/w/code/train.py")]
    assert mapped(foreign, {"/src": Path("/w/code")}) == []


def test_dots_never_lead_out_of_a_mapping() -> None:
    foreign = parse("/opt/app/../../../etc/passwd")
    assert foreign is not None
    assert foreign.parts == ("etc", "passwd")
    assert mapped(foreign, {"/opt/app": Path("/w")}) == []
