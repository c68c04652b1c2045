"""Demangling of the names of native functions: C++ by the library ``demangle``, which limits what a name may cost.

Names come from binaries that an untrusted file led to. The C++ runtime's own demangler (``__cxa_demangle``) is native
code without such limits, and isn't there on Windows.
"""

from memlens.formats.symbols.rust_names import MOST_CHARACTERS, demangled

_LIMITS = {"max_depth": 128, "max_output": 16_384, "max_substitutions": 2048, "max_input": MOST_CHARACTERS}


def plain_name(name: str) -> str:
    """Return the demangled name of a function in Rust, C++ or C; other names are returned unchanged."""
    name = name.partition("@")[0] or name
    shorter = demangled(name)
    if shorter != name or not name.startswith(("_Z", "__Z", "___Z")) or len(name) > MOST_CHARACTERS:
        return shorter
    # imported here, because most files have no mangled names
    import demangle

    # the style of c++filt, which profilers follow
    return demangle.demangle(name, language="itanium", style="gnu", limits=demangle.Limits(**_LIMITS))
