"""``npm run package``: the extension's package for this platform, or for those that ``--target`` names."""

import argparse
from pathlib import Path

from scripts.package import extension, tools, wheels
from scripts.package.targets import ROOT, chosen, here


def main() -> None:
    """Make the packages one after another."""
    parser = argparse.ArgumentParser(prog="npm run package --", description=__doc__)
    parser.add_argument("--target", default=here(), help="a platform, several with commas between, or all")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "packages")
    parser.add_argument("--jobs", type=int, default=0, help="compilers at a time; all cores if 0")
    parser.add_argument(
        "--wheels", action="store_true", help="make the Python package's wheels and sdist instead"
    )
    options = parser.parse_args()
    targets = chosen(options.target)
    if not options.wheels:
        tools.run(["node", str(ROOT / "scripts" / "build.mjs"), "--production"])
    for target in targets:
        if options.wheels:
            wheels.make(target, options.out, options.jobs)
        else:
            extension.make(target, options.out, options.jobs)
    if options.wheels:
        wheels.make_sdist(options.out)


main()
