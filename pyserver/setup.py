"""Compiles the kernels, memlens/**/*.pyx; all else about the package is in pyproject.toml.

The kernels take typed memoryviews and use no C API but Python's stable one, so one source builds with gcc, clang
and MSVC, needs no headers of other packages, and makes binaries that every CPython from 3.11 on can load.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from build_kernels import STABLE_ABI, digest, made_by_content, places, translate  # noqa: E402 - beside this file

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


class BuildExt(build_ext):
    """build_ext that keeps what it compiled, and knows each compiler's way to say "fast, without debug symbols"."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count() or 1

    def run(self):
        # Not before: pip asks for metadata twice before it builds.
        if self.extensions:
            translate(self.parallel)
        super().run()

    def build_extensions(self):
        flags = ["/O2"] if self.compiler.compiler_type == "msvc" else ["-O3", "-g0"]
        for extension in self.extensions:
            extension.extra_compile_args = [*extension.extra_compile_args, *flags]
        # The longest first: they are shared out among the cores one by one.
        self.extensions.sort(key=lambda extension: Path(extension.sources[0]).stat().st_size, reverse=True)
        self.toolchain = [str(part) for part in (sys.version, sysconfig.get_platform(), self._compiler())]
        super().build_extensions()

    def build_extension(self, ext):
        source = Path(ext.sources[0]).read_bytes()
        target = Path(self.get_ext_fullpath(ext.name))
        key = digest([*self.toolchain, *ext.extra_compile_args, str(ext.define_macros), ext.name, source])
        made_by_content(target, key + target.suffix, lambda: super(BuildExt, self).build_extension(ext))

    def _compiler(self):
        command = getattr(self.compiler, "compiler_so", None)
        if not command:
            return self.compiler.compiler_type
        asked = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=False)
        return f"{command} {asked.stdout}"


def extensions():
    """Describe the kernels; none is a fine answer."""
    # Set-up compiles in place, where what is current stays; an editable install would compile all of it again.
    if os.environ.get("MEMLENS_KERNELS_ARE_BUILT"):
        return []
    # a free-threaded Python has no stable ABI
    limited = {} if FREE_THREADED else {"py_limited_api": True}
    macros = [] if FREE_THREADED else [("Py_LIMITED_API", hex(STABLE_ABI))]
    return [
        Extension(module, [path.relative_to(HERE).as_posix()], define_macros=macros, **limited)
        for module, path in places().items()
    ]


os.chdir(HERE)
setup(
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildExt},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
