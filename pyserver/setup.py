"""Compiles every memlens/kernels/*.pyx; all else about the package is in pyproject.toml.

The kernels take typed memoryviews and use no C API but Python's own, so one source builds with gcc, clang
and MSVC and needs no headers of other packages.
"""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
PYX = sorted(path.relative_to(HERE).as_posix() for path in (HERE / "memlens" / "kernels").rglob("*.pyx"))


class BuildExt(build_ext):
    """build_ext that knows each compiler's way to say "fast and without debug symbols"."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count() or 1

    def build_extensions(self):
        flags = ["/O2"] if self.compiler.compiler_type == "msvc" else ["-O3", "-g0"]
        for extension in self.extensions:
            extension.extra_compile_args = [*extension.extra_compile_args, *flags]
        super().build_extensions()


def extensions():
    """Turn the .pyx files into C and describe them; none is a fine answer."""
    # Set-up compiles in place, where what is current stays; an editable install would compile all of it again.
    if not PYX or os.environ.get("MEMLENS_KERNELS_ARE_BUILT"):
        return []
    from Cython.Build import cythonize

    found = [Extension(path.removesuffix(".pyx").replace("/", "."), [path]) for path in PYX]
    # No worker processes here: fork costs more than the few files take, and spawn re-runs this script.
    return cythonize(found, language_level=3, annotate=bool(os.environ.get("MEMLENS_ANNOTATE")))


os.chdir(HERE)
setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExt})
