"""``npm run fuzz``: atheris and hypothesis over every target for a bounded time, the kernels under sanitizers.

With clang the kernels also guide the fuzzer to new code; with gcc Python's code alone does.

    npm run fuzz -- [--seconds 60] [--target file] [--keep]
    npm run fuzz -- --target file --input FILE
    npm run fuzz -- --damage [--cuts 200] [--flips 2000] [FILE …]
    npm run fuzz -- --queries [--seconds 60] [--seed 1]
    npm run fuzz -- --columns [FILE …]
    npm run fuzz -- --growth [SHAPE …]
    npm run fuzz -- --sanitize [TEST … | damage]

With ``--sanitize`` nothing is fuzzed at random: tests run with the kernels under sanitizers, by default those in which
files are hostile, damaged or change while they are read, and then ``--damage`` over the corpus. ``CC`` chooses the
compiler. Other options do something else: with ``--damage`` files are cut off and their bits turned over, see
``damage.py``; with ``--queries`` queries that take long are cancelled, see ``slow_queries.py``; with ``--columns``
archives of heap dumps get wrong contents, see ``wrong_columns.py``; with ``--growth`` every command is measured on
small files that stand for much, see ``growth.py``.

What breaks a target is kept in ``.cache/fuzz/crashes`` with the command that repeats it, and the exit status is 1.
``--keep`` adds to the corpus what reached new code, as small as it gets. Linux on x86-64 only, like atheris' wheels.
"""

import argparse
import functools
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYSERVER = ROOT / "pyserver"
CORPUS = Path(__file__).parent / "corpus"
PLACE = ROOT / ".cache" / "fuzz"
ATHERIS = Path(__file__).parent / "requirements.txt"
SANITIZERS = "address,undefined"

SANITIZED = tuple(
    f"tests/python/{name}.py"
    for name in (
        "test_changing_files",
        "test_hostile_heaps",
        "test_corpus",
        "test_damage_is_said",
        "test_impossible_values",
    )
)
"""The tests that ``--sanitize`` runs."""
DAMAGE = "damage"
"""Its last part: ``--damage`` over the corpus."""

TARGETS = ("file", "archive", "filter", "heaptrack", "memray")
LARGEST = {"file": 65_536, "archive": 800, "filter": 512, "heaptrack": 16_384, "memray": 16_384}


def main() -> int:
    """Fuzz; 0 when nothing broke."""
    own = {"--damage": "damage", "--queries": "slow_queries", "--columns": "wrong_columns",
           "--growth": "growth"}  # fmt: skip
    for option, module in own.items():
        if option in sys.argv:
            sys.path.insert(0, str(ROOT))
            found = importlib.import_module(f"tests.fuzz.{module}")
            return int(found.main([argument for argument in sys.argv[1:] if argument != option]))
    if "--sanitize" in sys.argv:
        return _sanitized([argument for argument in sys.argv[1:] if argument != "--sanitize"])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=int, default=60, help="for each target, and a quarter of it for hypothesis"
    )
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--keep", action="store_true", help="add to the corpus what reached new code")
    parser.add_argument("--input", type=Path, help="this input of the one target that is named, and no other")
    options = parser.parse_args()
    if options.input and len(options.target or ()) != 1:
        parser.error("--input needs one --target")
    if not sys.platform.startswith("linux"):
        print("fuzzing needs Linux: atheris has wheels for that alone", file=sys.stderr)
        return 1
    site = _atheris()
    kernels = _kernels()
    if options.input:
        command = _command(options.target[0], str(options.input.resolve()))
        return subprocess.run(command, env=_environment(site, kernels), check=False).returncode
    failed = []
    for target in options.target or TARGETS:
        broken = _fuzz(target, options.seconds, site, kernels)
        if _properties(target, options.seconds / 4, site, kernels) or broken:
            failed.append(target)
        elif options.keep:
            _keep(target, site, kernels)
    print("nothing broke" if not failed else f"broken: {', '.join(failed)}; see {PLACE / 'crashes'}")
    return bool(failed)


def _sanitized(tests: list[str]) -> int:
    """Run tests, and damage files, with the kernels under sanitizers; 0 when nothing failed or was reported."""
    compiler = _compiler()
    if compiler is None or not sys.platform.startswith("linux"):
        print("sanitizers need Linux with clang or gcc", file=sys.stderr)
        return 1
    # clang's sanitizer is loaded from atheris
    site = _atheris() if _is_clang(compiler) else None
    environment = _environment(site, _kernels())
    # a test has a process crash on purpose, and looks for its signal
    environment["ASAN_OPTIONS"] = f"{environment.get('ASAN_OPTIONS', '')}:handle_segv=0"
    check = "import memlens.packs.jvm.kernels.hprof as kernel; print(kernel.__file__)"
    loaded = subprocess.run(
        [sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=True
    )
    if not loaded.stdout.startswith(str(PLACE)):
        print(f"the kernels that are loaded aren't those under sanitizers: {loaded.stdout}", file=sys.stderr)
        return 1
    failed = []
    # a report ends the process, and with it what is left of that part alone
    for part in tests or (*SANITIZED, DAMAGE):
        started = time.monotonic()
        ended = subprocess.run(_sanitized_command(part), cwd=ROOT, env=environment, check=False)
        if ended.returncode:
            failed.append(part)
        print(
            f"{part}: {time.monotonic() - started:.0f} s, {'broken' if ended.returncode else 'well'}",
            flush=True,
        )
    print("nothing broke" if not failed else f"broken: {', '.join(failed)}")
    return bool(failed)


def _sanitized_command(part: str) -> list[str]:
    if part == DAMAGE:
        files = sorted(str(path) for path in (CORPUS / "file").iterdir())
        return [sys.executable, __file__, "--damage", "--cuts", "30", "--flips", "200", *files]
    return [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        # tests take many times as long
        "--timeout=1200",
        # what a sanitizer reports as it ends the process goes to stderr itself
        "--capture=sys",
        part,
    ]


def _atheris() -> Path:
    site = PLACE / f"site-{sys.implementation.cache_tag}"
    if not (site / "atheris").is_dir():
        print("installing atheris")
        install = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--require-hashes",
            "--target",
            str(site),
        ]
        command = [*install, "-r", str(ATHERIS)]
        subprocess.run(command, check=True)
    return site


def _kernels() -> Path | None:
    """A copy of the package with its kernels compiled for the fuzzer; None without a compiler that knows how."""
    compiler = _compiler()
    if compiler is None:
        print("neither clang nor gcc: the kernels run as they are, and guide nothing")
        return None
    copy = PLACE / "pyserver"
    # what was moved would be compiled as well, and imported
    for gone in [each for each in copy.rglob("*.p*") if not (PYSERVER / each.relative_to(copy)).exists()]:
        gone.unlink()
    shutil.copytree(
        PYSERVER,
        copy,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("*.so", "build", "__pycache__", "*.egg-info"),
    )
    sanitizers = f"{SANITIZERS},fuzzer-no-link" if _is_clang(compiler) else SANITIZERS
    left_out = "function,vptr" if _is_clang(compiler) else "vptr"
    print(f"compiling the kernels with {compiler} -fsanitize={sanitizers}")
    # signed overflow is defined by -fwrapv, with which CPython itself is compiled
    flags = f"-fsanitize={sanitizers} -fno-sanitize={left_out} -fno-omit-frame-pointer -fwrapv -g1"
    environment = {**os.environ, "CC": compiler, "CFLAGS": flags, "LDSHARED": f"{compiler} -shared"}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=copy, env=environment, check=True)
    return copy


@functools.cache
def _compiler() -> str | None:
    """The compiler that ``CC`` names, clang by default, or gcc where that has no sanitizers, as packages of it may."""
    compiler = shutil.which(os.environ.get("CC", "clang"))
    if compiler is not None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.c")
            source.write_text("", "ascii")
            command = [
                compiler,
                f"-fsanitize={SANITIZERS}",
                "-shared",
                str(source),
                "-o",
                f"{folder}/empty.so",
            ]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return compiler
    return shutil.which("gcc")


def _is_clang(compiler: str) -> bool:
    return Path(compiler).name == "clang"


def _sanitizer(site: Path | None) -> str:
    """What must be loaded before Python, which isn't compiled with sanitizers itself."""
    compiler = _compiler()
    if compiler is None or (_is_clang(compiler) and site is not None):
        return str(site / "asan_with_fuzzer.so") if site else ""
    asked = [
        subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        for name in ("libasan.so", "libubsan.so")
    ]
    return " ".join(answer.stdout.strip() for answer in asked)


def _environment(site: Path | None, kernels: Path | None) -> dict[str, str]:
    path = [str(kernels or PYSERVER), str(ROOT), *([str(site)] if site else ())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    if kernels is not None:
        environment |= {
            "LD_PRELOAD": _sanitizer(site),
            # Python keeps what it has until it ends; arenas of its own would hide reads after the end of a block
            "ASAN_OPTIONS": "detect_leaks=0:handle_sigbus=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            "PYTHONMALLOC": "malloc",
        }
    return environment


def _command(target: str, *options: str) -> list[str]:
    return [sys.executable, str(Path(__file__).parent / "fuzz_one.py"), target, *options]


def _fuzz(target: str, seconds: int, site: Path, kernels: Path | None) -> bool:
    """Whether it broke."""
    found, crashes = PLACE / "found" / target, PLACE / "crashes"
    for folder in (found, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}", f"-max_len={LARGEST[target]}", "-timeout=20", "-rss_limit_mb=4096",
        f"-artifact_prefix={crashes}/{target}-", "-print_final_stats=1", "-verbosity=0",
    ]  # fmt: skip
    started = time.monotonic()
    command = _command(target, *options, str(found), str(CORPUS / target))
    ended = subprocess.run(
        command, env=_environment(site, kernels), capture_output=True, text=True, check=False
    )
    tries = [line.split()[-1] for line in ended.stderr.splitlines() if "number_of_executed_units" in line]
    took = time.monotonic() - started
    print(
        f"{target}: {tries[0] if tries else '?'} inputs in {took:.0f} s, {'broken' if ended.returncode else 'well'}"
    )
    if ended.returncode:
        reported = [line for line in ended.stderr.splitlines() if "ERROR" in line or "runtime error" in line]
        print("\n".join(reported[:3]), ended.stderr[-2000:], sep="\n")
        print(f"again with: npm run fuzz -- --target {target} --input FILE")
    return ended.returncode != 0


def _properties(target: str, seconds: float, site: Path, kernels: Path | None) -> bool:
    """Whether hypothesis broke it."""
    command = [sys.executable, str(Path(__file__).parent / "properties.py"), target, str(seconds)]
    ended = subprocess.run(
        command, env=_environment(site, kernels), capture_output=True, text=True, check=False
    )
    print(
        f"{target}: {ended.stdout.strip() or '?'} edited members, {'broken' if ended.returncode else 'well'}"
    )
    if ended.returncode:
        print(ended.stderr[-3000:])
    return ended.returncode != 0


def _keep(target: str, site: Path, kernels: Path | None) -> None:
    """Add what reached new code, named after its content."""
    before = set((CORPUS / target).iterdir())
    command = _command(target, "-merge=1", f"-max_len={LARGEST[target]}", str(CORPUS / target))
    command.append(str(PLACE / "found" / target))
    subprocess.run(command, env=_environment(site, kernels), capture_output=True, check=False)
    print(f"{target}: {len(set((CORPUS / target).iterdir()) - before)} new in the corpus")


if __name__ == "__main__":
    sys.exit(main())
