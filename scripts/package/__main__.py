"""``npm run package``: the extension's package for this platform, or for those that ``--target`` names."""

import argparse
from pathlib import Path

from scripts.package import extension, tools, wheels
from scripts.package.targets import ROOT, chosen, here


def main() -> None:
    """Build the packages one after another."""
    parser = argparse.ArgumentParser(prog="npm run package --", description=__doc__)
    parser.add_argument("--target", default=here(), help="a platform, several separated by commas, or all")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "packages")
    parser.add_argument(
        "--jobs", type=int, default=0, help="how many compilers to run at once; 0 for one per core"
    )
    parser.add_argument(
        "--wheels", action="store_true", help="build the Python package's wheels and sdist instead"
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
