"""Whose code a frame is: the table of where interpreters, compilers and package managers keep library code.

A frame belongs to the library of the first rule that it matches, and is the user's own if it matches none. A rule
looks at one of these:

* ``path``: the file's path, with forward slashes and without ``..``. Paths as compilers write them may be relative.
* ``cut``: a path whose beginning was cut off by PyTorch's CPU profiler.
* ``name``: the file's name, if the file has no folder (valgrind's massif and DHAT record names only); with ``inside``,
  only in functions that match it, because a program may have an ``import.c`` itself.
* ``function``: the function's name without its parameters and template arguments, if the file has no folder.
* ``module``: the program or shared library that contains the code.

Ambiguous names count as the user's. A folder takes precedence over a name, a file of the workspace over a rule for
names (:func:`is_by_name_only`), and ``memlens.libraries`` over everything. ``tests/python/test_libraries.py`` has
examples for every rule, and near misses that are the user's.
"""

import functools
import posixpath
import re
import sys
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from memlens.result_cache import remembered

PYTHON, CPYTHON, TORCH, GENERATED, NODE, JAVA, QT = (
    "Python's library", "CPython", "PyTorch's C++", "generated code", "Node's library", "Java's library", "Qt",
)  # fmt: skip
GO, RUBY, RUST, CPP, C, SYSTEM, DEBUGGER, DATABRICKS, AZURE_ML = (
    "Go's library", "Ruby's library", "Rust's library", "C++'s library", "the C library", "the system",
    "the debugger", "Databricks", "Azure ML",
)  # fmt: skip

Where = Literal["path", "cut", "name", "function", "module"]


class Rule(Struct, frozen=True, dict=True):
    """A frame that matches ``pattern`` belongs to ``library``, in which the pattern's group replaces ``{package}``.

    Patterns are compiled on first use, since a file needs few of them.
    """

    name: str
    where: Where
    library: str
    expression: str
    hints: tuple[str, ...]
    """Lower-case texts of which every matching path contains one; searching for them is faster than the pattern."""
    inside_expression: str

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of the path, name, function or module."""
        return re.compile(self.expression, re.IGNORECASE if self.where in ("path", "name") else re.NOFLAG)

    @functools.cached_property
    def inside(self) -> re.Pattern[str] | None:
        """The pattern that the function must match as well; None if there is none."""
        return re.compile(self.inside_expression) if self.inside_expression else None


def _rule(name: str, where: Where, library: str, pattern: str, *hints: str, inside: str = "") -> Rule:
    return Rule(name, where, library, pattern, hints, inside)


_SOURCE = r"(?:c|cc|cpp|cxx|cu|cuh|h|hh|hpp|inl|inc|m|mm|s|tcc|pyx|pxd)"

# the top folders of GOROOT/src
_GO_TOPS = (
    "archive|bufio|bytes|cmd/(?:compile|go|internal|link|vendor)|cmp|compress|container|context|crypto|database|debug|"
    "embed|encoding|errors|expvar|flag|fmt|go|hash|html|image|index|internal|io|iter|log|maps|math|mime|net|os|path|"
    "plugin|reflect|regexp|runtime|slices|sort|strconv|strings|structs|sync|syscall|testing|text|time|unicode|unique|"
    "unsafe|vendor|weak"
)
# names that programs are unlikely to use for their own files …
_CPYTHON_NAMES = (
    r"(?:bool|bytearray|bytes|capsule|cell|class|code|complex|descr|dict|enum|file|float|frame|func|gen|genericalias|"
    r"iter|list|long|memory|method|module|namespace|odict|picklebuf|range|set|slice|tuple|type|typevar|unicode|union|"
    r"weakref)object|accu|exceptions|obmalloc|unicodectype|structseq|ceval(?:_gil)?|bltinmodule|pylifecycle|pythonrun|pystate|"
    r"sysmodule|modsupport|getargs|pyarena|pyhash|pymem|pystrtod|pystrcmp|preconfig|initconfig|pathconfig|frozenmain|"
    r"hamt|specialize|deepfreeze|symtable|marshal|codecs|bytecodes|generated_cases|flowgraph|crossinterp|importdl|"
    r"dynload_\w+|bootstrap_hash|instrumentation|Python-(?:ast|tokenize)|asdl|ast_unparse|_warnings|formatter_unicode|"
    r"mysnprintf|mystrtoul|pyctype|pymath|pystrhex|pytime|structmember|thread_(?:nt|pthread)|perf_trampoline|"
    r"gc_free_threading|pegen|action_helpers|pycore_\w+|"
    r"(?:_bisect|_bz2|_codecs|_collections|_contextvars|_datetime|_asyncio|_functools|_heapq|_io|_lzma|_queue|_random|"
    r"_statistics|_thread|_typing|_uuid|array|atexit|cmath|errno|fcntl|gc|grp|itertools|math|md5|mmap|posix|pwd|"
    r"select|sha\d+|signal|socket|spwd|symtable|syslog|time|zlib)module|"
    r"_abc|_csv|_elementtree|_hashopenssl|_json|_lsprof|_opcode|_operator|_pickle|_posixsubprocess|_sre|sre|sre_lib|"
    r"_ssl|_stat|_struct|_tracemalloc|_weakref|_zoneinfo|_ctypes|callproc|stgdict|faulthandler|getpath|"
    r"bufferedio|bytesio|stringio|textio|fileio|iobase|unicodedata|pyexpat|binascii"
)
# … and common ones
_CPYTHON_PLAIN = (
    "abstract|assemble|ast|ast_opt|call|compile|context|dtoa|errors|fileutils|frame|frozen|future|gc|getcopyright|"
    "hashtable|import|intrinsics|lock|main|myreadline|object|parser|peg_api|readline|resource|string_parser|"
    "suggestions|thread|token|tokenizer|traceback|tracemalloc"
)
# of CPython's functions; PyInit_name is the function that a user's own module exports
_CPYTHON_PREFIX = r"^_?Py(?!Init_)[A-Z_]"
_GLIBC_OWN = "csu|nptl|stdio-common|libio|wcsmbs|iconv|iconvdata|nss|nss_files|dlfcn"
_GLIBC_PLAIN = "elf|include|intl|io|locale|malloc|misc|posix|resolv|stdlib|string|time|dirent"
_GLIBC_NAMES = (
    r"dl-[\w-]+|rtld|rtld-malloc|libc-start|libc_start_call_main|libc-tls|cxa_(?:at_quick_exit|atexit|finalize|"
    r"thread_atexit_impl)|io(?:f|get|put|seek|pop|setv|un|vs|pad|wf)\w*|filedoalloc|fileops|genops|wfileops|wgenops|"
    r"wfiledoalloc|fseeko|ftello|fmemopen|open_memstream|vasprintf|obprintf|vf?printf-internal|vf?scanf-internal|"
    r"(?:m|mm|mre)map(?:64)?|sbrk|morecore|opendir|fdopendir|readdir(?:64|_r)?|scandir(?:64|at|-tail)?|"
    r"(?:str|wcs)n?dup|setlocale|newlocale|duplocale|loadlocale|loadarchive|findlocale|localealias|l10nflist|"
    r"explodename|dcigettext|dcgettext|bindtextdom|textdomain|finddomain|loadmsgcat|setenv|tsearch|hsearch_r|msort|"
    r"nss_\w+|nsswitch|files-\w+|XXX-lookup|getXX\w+|getaddrinfo|gethst\w+|res_(?:init|conf|query|hconf)\w*|resolv_\w+|"
    r"pthread_\w+|allocatestack|nptl[-_]\w+|allocate_once|gconv\w*|wcsmbsload|mbsrtowcs(?:_l)?|regcomp|regexec|"
    r"tz(?:set|file)|clone3?|at_quick_exit|scratch_buffer\w*|dynarray\w*|alloc_buffer\w*"
)
_CPP_NAMES = (
    r"(?:stl_\w+|basic_(?:string|ios|file)|(?:new|malloc|bitmap|mt|pool|debug)_allocator|alloc_traits|allocated_ptr|"
    r"allocator|char_traits|ptr_traits|cpp_type_traits|ext_type_traits|unique_ptr|shared_ptr(?:_base|_atomic)?|"
    r"hashtable(?:_policy)?|functional_hash|unordered_(?:map|set)|std_(?:function|mutex|thread|abs)|refwrap|"
    r"locale_(?:facets|classes|conv)\w*|ios_base|streambuf_iterator|ostream_insert|postypes|codecvt|fs_(?:path|dir|ops)|"
    r"regex_(?:automaton|compiler|executor|scanner)|uses_allocator\w*|aligned_buffer|range_access|ranges_\w+|"
    r"forward_list|predefined_ops|node_handle|erase_if|cow_string|string_view|stringfwd|atomic_base)\.(?:h|tcc)|"
    r"(?:vector|deque|list|string_view|fstream|sstream|istream|ostream|streambuf|locale_facets|valarray_\w+|"
    r"forward_list|hashtable|random|regex)\.tcc|"
    r"algorithm|any|array|atomic|bitset|charconv|chrono|complex|condition_variable|coroutine|deque|exception|expected|"
    r"filesystem|format|forward_list|fstream|functional|future|initializer_list|iomanip|ios|iosfwd|iostream|istream|"
    r"iterator|limits|list|locale|map|memory|memory_resource|mutex|new|numeric|optional|ostream|print|queue|random|"
    r"ranges|ratio|regex|scoped_allocator|set|shared_mutex|span|sstream|stack|stdexcept|streambuf|string|string_view|"
    r"strstream|system_error|thread|tuple|type_traits|typeindex|typeinfo|unordered_map|unordered_set|utility|valarray|"
    r"variant|vector|"
    r"__(?:split_buffer|tree|hash_table|bit_reference|string|locale|functional_base|tuple|config|threading_support)"
)
_RUST_STD = (
    "alloc|core|std|hashbrown|proc_macro|panic_unwind|compiler_builtins|rustc_demangle|addr2line|gimli"
)
# common crates; their names are taken, so a user's own crate has another
_RUST_CRATES = (
    r"serde|serde_json|serde_\w+|tokio|tokio_\w+|hyper|hyper_\w+|futures_\w+|rayon|rayon_core|regex|regex_\w+|memchr|"
    r"aho_corasick|clap|clap_\w+|anyhow|tracing|tracing_\w+|parking_lot|parking_lot_core|crossbeam_\w+|smallvec|"
    r"indexmap|once_cell|dhat|itertools|reqwest|axum|tower|h2|rustls|ahash|dashmap|syn|proc_macro2|rand|rand_\w+"
)
# beginnings of the CPU profiler's paths: packages of the standard library are folders, its modules are files
_PYTHON_FOLDERS = (
    "asyncio|collections|concurrent|ctypes|curses|dbm|distutils|email|encodings|ensurepip|html|http|importlib|json|"
    "logging|multiprocessing|pathlib|pydoc_data|re|sqlite3|sysconfig|tkinter|tomllib|unittest|urllib|venv|wsgiref|xml|"
    "xmlrpc|zipfile|zoneinfo"
)
_PYTHON_FILES = "|".join(sorted(set(sys.stdlib_module_names) - {"test", "this"}))
_PYTHON_PACKAGES = (
    "torch|torchvision|torchaudio|torchtune|functorch|numpy|scipy|pandas|transformers|accelerate|diffusers|peft|trl|"
    "lightning|lightning_fabric|pytorch_lightning|deepspeed|flash_attn|xformers|bitsandbytes|vllm|triton|timm|einops|"
    "safetensors|tokenizers|huggingface_hub|tqdm|ray|jax|sklearn|IPython|ipykernel|ipywidgets|_pytest|pluggy"
)
_LAUNCHERS = (
    r"torchrun|torchx|accelerate|deepspeed|ray|vllm|pytest|py\.test|ipython3?|jupyter(?:-\w+)?|uvicorn|gunicorn|celery|"
    r"streamlit|lightning|horovodrun|memray|scalene|coverage|kernprof|papermill|marimo|voila|"
    r"composer|colossalai|debugpy|dask(?:-\w+)?"
)

RULES: tuple[Rule, ...] = (
    # generated code
    _rule("frozen modules", "path", PYTHON, r"^<frozen ", "<frozen "),
    _rule("Go's generated code", "path", GO, r"^(?:<autogenerated>|_cgo_\w+\.(?:go|c))$", "<auto", "_cgo_"),
    # interactive input is in brackets, too; <command-1234> is a cell of Databricks' notebooks
    _rule("text in brackets", "path", GENERATED,
          r"^<(?!ipython-input|command-\d|stdin>|console>|input>|doctest )", "<"),
    _rule("TorchInductor", "path", GENERATED,
          r"/torchinductor_[^/]+/(?:[a-z0-9]{2}|triton|fxgraph|aotautograd)/", "/torchinductor_"),
    # TorchInductor names a file by its hash, wherever TORCHINDUCTOR_CACHE_DIR is
    _rule("TorchInductor by hash", "path", GENERATED, r"(?:^|/)[a-z2-7]{2}/c[a-z2-7]{50,52}\.py$", "/c"),
    _rule("Triton's cache", "path", GENERATED, r"/\.triton/(?:cache|dump)/", "/.triton/"),
    _rule("Qt's generated code", "path", GENERATED,
          r"(?:^|/)(?:moc|qrc)_[^/]+\.cpp$|_autogen/(?:include/)?ui_[^/]+\.h$",
          "moc_", "qrc_", "_autogen/"),
    # Python packages
    _rule("site-packages", "path", "{package}", r"(?:^|/)(?:site|dist)-packages/(?P<package>[^/]+)", "-packages/"),
    _rule("eggs and wheels", "path", "{package}",
          r"(?:^|/)(?P<package>[^/]+?)(?:-\d[^/]*)?\.(?:egg|whl)/", ".egg/", ".whl/"),
    _rule("PEP 582", "path", "{package}", r"/__pypackages__/[\d.]+/lib/(?P<package>[^/]+)/", "/__pypackages__/"),
    _rule("Spark's zips", "path", "{package}", r"(?:^|/)(?P<package>pyspark|py4j)(?:-[^/]*)?\.zip/", ".zip/"),
    _rule("Spark's Python", "path", "{package}", r"/spark[^/]*/python/(?P<package>pyspark)/", "/pyspark/"),
    _rule("launchers", "path", "{package}",
          rf"/(?:bin|Scripts)/(?P<package>{_LAUNCHERS})(?:-script\.py|\.exe(?:/__main__\.py)?)?$",
          "/bin/", "/scripts/"),
    _rule("kernel launchers", "path", "ipykernel",
          r"(?:^|/)(?:ipykernel|colab_kernel)_launcher\.py$", "kernel_launcher.py"),
    _rule("Databricks' shell", "path", DATABRICKS, r"^/databricks/python_shell/", "/databricks/python_shell/"),
    _rule("Azure ML's wrappers", "path", AZURE_ML, r"/azureml-setup/", "/azureml-setup/"),
    # PyCharm copies its helpers to remote machines
    _rule("debuggers", "path", DEBUGGER,
          r"/\.(?:vscode|cursor|windsurf)[\w-]*/extensions/|/extensions/ms-python\.|/(?:\.pycharm_)?helpers/pydev/|"
          r"/debugpy/(?:_vendored|server|launcher|adapter|common)/",
          "/extensions/", "/pydev/", "/debugpy/"),
    # Python's standard library
    _rule("Python's lib", "path", PYTHON, r"(?:^|/)lib(?:64)?/(?:python|pypy)\d+\.\d+t?/", "/python", "/pypy"),
    _rule("Python's zip", "path", PYTHON, r"(?:^|/)(?:python\d+|base_library)\.zip/", ".zip/"),
    # uv, rye, hatch; python.org; GitHub's runners; pyenv; the Microsoft Store; Scoop; Conda: on Windows all have a Lib
    _rule("uv's Python", "path", PYTHON, r"/(?:cpython|pypy)-?\d+\.\d+[^/]*/(?:install/)?Lib/", "/cpython", "/pypy"),
    _rule("python.org's Python", "path", PYTHON, r"(?:^|/)Python\d{2,}(?:-32|-64|-arm64)?/Lib/", "python"),
    _rule("hosted runners' Python", "path", PYTHON, r"/Python/\d+\.\d+[^/]*/(?:x64|x86|arm64)/Lib/", "/python/"),
    _rule("pyenv's and Scoop's Python", "path", PYTHON,
          r"/(?:pyenv-win/versions|scoop/apps/python\d*)/[^/]+/Lib/", "/pyenv-win/", "/scoop/"),
    _rule("the Store's Python", "path", PYTHON,
          r"/PythonSoftwareFoundation\.Python[^/]*/Lib/", "/pythonsoftwarefoundation."),
    _rule("Conda's Python", "path", PYTHON,
          r"/(?:(?:ana|mini)conda\d*|miniforge\d*|mambaforge|micromamba|\.conda)/(?:envs/[^/]+/)?Lib/",
          "conda", "forge", "mamba"),
    _rule("macOS's Python", "path", PYTHON, r"/Python3?\.framework/", ".framework/"),
    # the sources of CPython, PyTorch and their dependencies
    _rule("CPython's sources", "path", CPYTHON,
          r"/(?:cpython[^/]*|python(?:-split)?_\d+/work|python[\d.]*-\d[^/]*|usr/src/python)/(?:build-\w+/)?"
          r"(?:Objects|Python|Modules|Parser|Include|Programs)/", "python"),
    _rule("CPython's relative sources", "path", CPYTHON,
          r"^(?:Objects|Python|Modules|Parser|Include|Programs)(?:/_\w+|/internal|/cpython)?"
          rf"(?:/clinic|/stringlib|/deepfreeze)?/(?:(?:{_CPYTHON_NAMES}|{_CPYTHON_PLAIN})\.[ch](?:\.h)?$)",
          ".c", ".h"),
    _rule("CPython's generated sources", "path", CPYTHON,
          r"^Objects/stringlib/[^/]+\.h$|^Python/deepfreeze/", "stringlib/", "deepfreeze/"),
    _rule("PyTorch's sources", "path", TORCH,
          r"(?:^|/)(?:aten/src/(?:ATen|TH\w*)|c10/(?:core|cuda|hip|xpu|mobile|util|macros)|torch/csrc|"
          rf"caffe2/(?:core|utils|operators|serialize|perfkernels))/.+\.{_SOURCE}$",
          "aten/", "c10/", "torch/csrc/", "caffe2/"),
    _rule("NumPy's sources", "path", "{package}",
          r"^(?P<package>numpy|scipy|pandas|sklearn|pyarrow)/(?:_?core|_?libs?|random|linalg|fft|sparse|special|src|"
          rf"include)/.+\.{_SOURCE}(?:\.src)?$", "numpy/", "scipy/", "pandas/", "sklearn/", "pyarrow/"),
    _rule("CUDA", "path", "{package}",
          r"^/(?:usr/local|opt)/(?P<package>cuda|rocm|intel|nvidia)(?:-[^/]*)?/(?:.*/)?(?:include|lib|lib64|src)/",
          "/cuda", "/rocm", "/intel/", "/nvidia/"),
    # Go: GOROOT, whole and after -trimpath, the module cache, vendored modules
    _rule("GOROOT", "path", "Go's {package}",
          r"(?:^|/)(?:go(?:-?\d[^/]*)?|goroot|google-golang|golang|libexec|x64|toolchain@[^/]+|go/\d+)/src/"
          rf"(?P<package>(?:{_GO_TOPS})(?:/[^/]+)*)/[^/]+\.(?:go|s|h|c)$", "/src/"),
    _rule("GOROOT trimmed", "path", "Go's {package}",
          rf"^(?P<package>(?:{_GO_TOPS})(?:/[^/]+)*)/[^/]+\.(?:go|s)$", ".go", ".s"),
    _rule("Go's module cache", "path", "{package}", r"/pkg/mod/(?P<package>[^@]+?)@v\d[^/]*/", "/pkg/mod/"),
    _rule("Go's modules trimmed", "path", "{package}",
          r"^(?P<package>[^/@:]+\.[^/@:]+/[^@]+?|[^/@:]+\.[^/@:]+)@v\d[^/]*/", "@v"),
    _rule("Go's vendored modules", "path", "{package}",
          r"(?:^|/)vendor/(?P<package>(?:github\.com|gitlab\.com|bitbucket\.org)/[^/]+/[^/]+|golang\.org/x/[^/]+|"
          r"[^/]+\.[^/]+/[^/]+)/(?:.+/)?[^/]+\.(?:go|s|c|h)$", "vendor/"),
    # what JRuby has in its jar
    _rule("JRuby's jar", "path", RUBY, r"^uri:classloader:/", "uri:classloader:"),
    # Rust
    _rule("Rust's sources", "path", RUST,
          r"^/?rustc/[0-9a-f.]+/|/\.rustup/toolchains/|/rustlib/src/rust/|^/usr/src/rustc-[^/]+/", "rust"),
    _rule("Rust's sources trimmed", "path", RUST,
          r"^library/(?:std|core|alloc|proc_macro|panic_unwind|portable-simd)/.+\.rs$", "library/"),
    _rule("Cargo's registry", "path", "{package}",
          r"/\.?cargo/(?:registry/src/[^/]+|git/checkouts)/(?P<package>[^/]+?)(?:-\d[^/]*|-[0-9a-f]{16})?/", "cargo/"),
    # Debian's crates, and those of Rust's own library
    _rule("Rust's own crates", "path", "{package}",
          r"(?:/rust/deps|/share/cargo/registry)/(?P<package>[^/]+?)-\d[^/]*/",
          "/rust/deps/", "/cargo/registry/"),
    _rule("crates trimmed", "path", "{package}", r"^(?P<package>[a-z][\w-]*?)-\d+\.\d+\.\d+[^/]*/src/.+\.rs$", ".rs"),
    _rule("vendored crates", "path", "{package}",
          r"(?:^|/)vendor/(?P<package>[\w-]+?)(?:-\d[^/]*)?/src/.+\.rs$", ".rs"),
    # C and C++
    _rule("C++ headers", "path", CPP,
          r"/include/c\+\+/|(?:^|/)libstdc\+\+-v3/|/libcxx(?:abi)?/(?:include|src)/", "c++", "libcxx"),
    _rule("C++ bits", "path", CPP, r"^(?:[\w.+-]+/)*bits/(?:stl_|basic_|shared_ptr|unique_ptr|alloc)[^/]*$", "bits/"),
    _rule("MSVC", "path", CPP,
          r"/VC/Tools/MSVC/|^[a-z]:/(?:a/_work/\d+/s/src/vctools|agent/_work/.*/vctools)/|minkernel/crts/",
          "/msvc/", "vctools/", "minkernel/"),
    _rule("C library's releases", "path", C,
          r"/glibc-\d[^/]*/|/glibc/(?:csu|elf|malloc|nptl|libio|stdlib|string|sysdeps)/|/musl-\d[^/]*/",
          "/glibc", "/musl-"),
    _rule("sysdeps", "path", C,
          r"(?:^|/)sysdeps/(?:unix|generic|x86_64|x86|aarch64|i386|arm|nptl|pthread|posix|ieee754)/",
          "sysdeps/"),
    # valgrind prefixes the compiler's working folder: elf/./elf/dl-init.c
    _rule("C library's own folders", "path", C,
          rf"^(?:(?:{_GLIBC_OWN}|{_GLIBC_PLAIN})/)*(?:{_GLIBC_OWN})/[^/]+\.[chs]$",
          "csu/", "nptl/", "stdio-common/", "libio/", "wcsmbs/", "iconv", "nss", "dlfcn/"),
    _rule("C library's plain folders", "path", C,
          rf"^(?:(?:{_GLIBC_OWN}|{_GLIBC_PLAIN})/)+(?:{_GLIBC_NAMES}|malloc|arena|hooks|exit|putenv|mbstowcs|qsort|"
          r"getenv|fork|spawn\w*|brk|start)\.[chs]$", ".c", ".h", ".s"),
    _rule("Qt's sources", "path", QT, r"(?:^|/)qt(?:base|declarative|svg|wayland|tools|x11extras)/src/", "qt"),
    _rule("Java's packages", "path", JAVA, r"^(?:java|javax|jdk|sun|com/sun)/.+\.java$", ".java"),
    _rule("Node's modules", "path", NODE, r"^node:|^(?:node:)?internal/.+\.[mc]?js$", "node:", "internal/"),
    _rule("Node's sources", "path", NODE,
          r"^(?:deps/(?:uv|v8|openssl|zlib|llhttp|cares|nghttp2)/|src/(?:node|node_\w+)\.(?:cc|h)$)",
          "deps/", "src/node"),
    # code of others within a project
    _rule("node_modules", "path", "{package}",
          r"(?:^|/)node_modules/(?P<package>(?:@[^/]+/)?[^/]+)/", "node_modules/"),
    _rule("third party", "path", "{package}",
          r"(?:^|/)(?:third[_-]?party|3rd[_-]?party)/(?:py/|python/)?(?P<package>[^/]+)/", "party/"),
    _rule("FetchContent", "path", "{package}", r"/_deps/(?P<package>[^/]+)-(?:src|build|subbuild)/", "/_deps/"),
    _rule("vcpkg", "path", "{package}",
          r"/vcpkg(?:_installed)?/(?:installed/)?[^/]+/(?:include|share|src)/(?P<package>[^/]+)/",
          "/vcpkg"),
    # Bazel: other repositories than the main one
    _rule("Bazel's external repositories", "path", "{package}",
          r"(?:^|/execroot/[^/]+/|/_bazel_[^/]+/[0-9a-f]+/)external/(?P<package>[^/]+)/",
          "external/"),
    _rule("Bazel's runfiles", "path", "{package}",
          r"\.runfiles/(?P<package>[^/]*(?:[~+]|pypi|rules_|com_|org_|io_|bazel_tools)[^/]*)/", ".runfiles/"),
    # packages as distributions build and install them
    _rule("distributions' builds", "path", "{package}",
          r"^/(?:build|builddir/build/BUILD|usr/src/debug)/(?P<package>[^/]+?)(?:-[^/]*)?/",
          "/build", "/usr/src/debug/"),
    _rule("Conda's builds", "path", "{package}",
          r"/(?:croot|conda-bld|feedstock_root/build_artifacts)/(?P<package>[^/]+?)(?:-split)?_\d+/(?:work|_?h_env)",
          "/croot/", "/conda-bld/", "/build_artifacts/"),
    _rule("Nix and Guix", "path", "{package}",
          r"^/(?:nix|gnu)/store/[0-9a-z]{32}-(?P<package>[^/]+?)(?:-\d[^/]*)?/", "/store/"),
    _rule("Homebrew", "path", "{package}", r"/(?:Cellar|linuxbrew/opt|homebrew/opt)/(?P<package>[^/@]+)(?:@[^/]+)?/",
          "/cellar/", "brew/opt/"),
    _rule("system headers", "path", SYSTEM,
          r"^/usr/(?:local/)?include/(?:[^/]+-linux-gnu\w*/)?[^/]+$|^/opt/homebrew/(?:include|lib)/",
          "/include/", "/homebrew/"),
    _rule("installed headers", "path", "{package}",
          r"^/usr/(?:local/)?include/(?:[^/]+-linux-gnu\w*/)?(?P<package>[^/]+)/", "/include/"),
    # /usr/src/app is the user's own code in Docker images
    _rule("installed files", "path", SYSTEM,
          r"^/usr/(?:local/)?(?:lib|lib32|lib64|libexec)/|^/usr/share/|^/usr/src/linux[^/]*/", "/usr/"),
    _rule("Apple's files", "path", SYSTEM,
          r"^/Library/Developer/|/Xcode[^/]*\.app/|^/System/", "/library/", ".app/", "/system/"),
    _rule("Program Files", "path", SYSTEM,
          r"^[a-z]:/Program Files(?: \(x86\))?/(?:Microsoft|Windows Kits|LLVM|NVIDIA|Common Files)[^/]*/",
          "/program files"),
    # paths cut off by the CPU profiler
    _rule("cut standard library", "cut", PYTHON, rf"^(?:(?:{_PYTHON_FOLDERS})/|(?:{_PYTHON_FILES})\.py$)"),
    _rule("cut packages", "cut", "{package}", rf"^(?P<package>{_PYTHON_PACKAGES})/"),
    # files without a folder
    _rule("C library's names", "name", C, rf"^(?:{_GLIBC_NAMES})\.[chs]$"),
    _rule("malloc.c", "name", C, r"^(?:malloc|arena|hooks)\.[ch]$", inside=(
        r"^_*(?:GI_|libc_|int_)*(?:m|c|re)alloc|^_*(?:libc_)?(?:memalign|free|cfree|valloc|pvalloc|posix_memalign)$|"
        r"^sysmalloc|^sysmadvise|^systrim|^mremap_chunk|^munmap_chunk|^tcache_|^ptmalloc_|^arena_get|^_int_|"
        r"^malloc_consolidate|^unlink_chunk|^new_heap|^alloc_new_heap|^grow_heap")),
    _rule("C library's plain names", "name", C,
          r"^(?:brk|exit|putenv|popen|qsort|glob|backtrace|getenv|libc\S*|error)\.c$", inside=(
        r"^_*(?:brk|exit|run_exit_handlers|putenv|popen|proc_open|qsort(?:_r)?|msort_with_tmp\S*|glob(?:64)?|backtrace|"
        r"getenv|error)(?:@@?GLIBC\S*)?$")),
    _rule("CPython's names", "name", CPYTHON, rf"^(?:{_CPYTHON_NAMES})\.[ch](?:\.h)?$"),
    _rule("CPython's plain names", "name", CPYTHON, rf"^(?:{_CPYTHON_PLAIN})\.[ch](?:\.h)?$", inside=(
        rf"{_CPYTHON_PREFIX}|^pymain_|^pyinit_|^pycore_|^object_(?:vacall|isinstance)|^callmethod|^builtin_|"
        r"^_imp_|^import_(?:find_and_load|name|from|ensure)|^create_builtin|^compiler_|^_pytoken|^tok_")),
    _rule("C++ header names", "name", CPP, rf"^(?:{_CPP_NAMES})$"),
    _rule("C++ plain header names", "name", CPP, r"^(?:move|invoke|tuple|utility)\.h$",
          inside=r"^(?:swap|move|forward|exchange|addressof|__\w+|(?:std::)\S*)"),
    _rule("amalgamations", "name", "{package}", r"^(?P<package>sqlite3|miniz|stb_image|stb_truetype)\.[ch]$"),
    # namespaces, if files have no folder; names with two underscores are reserved for the compiler and its library
    _rule("C++ namespaces", "function", CPP, r"^(?:std|__gnu_cxx|__cxxabiv1|abi)::|^operator (?:new|delete)\b"),
    _rule("C library's functions", "function", C,
          r"^__(?!Z)[a-z]\w*|^_(?:dl|nl|int|nss|res|obstack|IO|GI|Exit)_\w+|^_start$|^_init$|^_exit$|^\(below main\)"),
    _rule("C++ members", "function", CPP, r"^_(?:M|S)_\w+"),
    _rule("Rust's namespaces", "function", RUST, rf"^rust:(?:{_RUST_STD})(?:,(?:{_RUST_STD}))*$"),
    _rule("crates' namespaces", "function", "{package}",
          rf"^rust:(?:(?:{_RUST_STD}),)*(?P<package>{_RUST_CRATES})(?:,(?:{_RUST_STD}|{_RUST_CRATES}))*$"),
    # programs and shared libraries that contain none of the user's code
    _rule("Python binaries", "module", CPYTHON,
          r"(?:^|/)(?:lib)?python\d[\d.]*[a-z]*(?:\.so[\d.]*|\.dylib|\.dll|\.exe)?$"),
    _rule("system binaries", "module", SYSTEM,
          r"^(?:/(?:usr/(?!local/|src/|home/)|lib(?:32|64|x32)?/|s?bin/|opt/homebrew/|nix/store/|gnu/store/|snap/)|"
          r"/System/|linux-vdso)"),
)  # fmt: skip

_PATH = tuple((rule, rule.hints) for rule in RULES if rule.where == "path")
_OF: dict[Where, list[Rule]] = {
    where: [rule for rule in RULES if rule.where == where] for where in get_args(Where)
}

# files of these languages are always recorded with their folder, and their functions may have any name
_NOT_COMPILED = (".py", ".pyw", ".pyi", ".ipynb", ".go", ".js", ".mjs", ".cjs", ".ts", ".rb", ".java", ".kt")


class Match(NamedTuple):
    """The rule that a frame matches, and the library that it belongs to."""

    rule: Rule
    library: str


def library_of(file: str, function: str = "", module: str = "", *, cut: bool = False) -> str:
    """Return the library or package of a frame with a file, empty for the user's own; see :class:`Rule`.

    ``cut`` means that the path's beginning was cut off.
    """
    match = _by_path(file) or match_of(file, function, module, cut=cut)
    return "" if match is None else match.library


def match_of(file: str, function: str = "", module: str = "", *, cut: bool = False) -> Match | None:
    """Return the first rule that a frame matches; None for the user's own."""
    match = _by_path(file)
    if match is None and cut:
        match = _first("cut", file.replace("\\", "/"))
    if match is None and is_bare(file):
        match = _by_name(file, function)
    if match is None and module:
        match = _by_module(module)
    return match


def is_by_name_only(file: str, function: str) -> bool:
    """Return whether only the name of its file makes a frame a library's, not a folder or the function's prefix.

    The user's program may have a file of that name.
    """
    match = match_of(file, function)
    if match is None or match.rule.where != "name":
        return False
    name = qualified(function)
    return _first("function", name) is None and not re.match(_CPYTHON_PREFIX, name)


@remembered(1 << 15)
def _by_path(file: str) -> Match | None:
    """Return the first path rule that a file matches. Cached, because few files have many frames."""
    path = canonical(file.replace("\\", "/"))
    lower = path.lower()
    for rule, hints in _PATH:
        for hint in hints:
            if hint in lower:
                matched = rule.pattern.search(path)
                if matched is not None:
                    return _match(rule, matched)
                break
    return None


@remembered(1 << 15)
def is_bare(file: str) -> bool:
    """Return whether a file of a compiled language is recorded without its folder."""
    return not ("/" in file or "\\" in file or file.startswith("<") or file.endswith(_NOT_COMPILED))


def _by_name(file: str, function: str) -> Match | None:
    name = None
    for rule, match in _named(file):
        if rule.inside is None:
            return match
        name = qualified(function) if name is None else name
        if rule.inside.search(name):
            return match
    return _first("function", qualified(function, rust=file.endswith(".rs")))


@remembered(1 << 14)
def _named(file: str) -> list[tuple[Rule, Match]]:
    """Return the name rules that a file's name matches."""
    matched = ((rule, rule.pattern.search(file)) for rule in _OF["name"])
    return [(rule, _match(rule, match)) for rule, match in matched if match is not None]


@remembered(1 << 12)
def _by_module(module: str) -> Match | None:
    return _first("module", module.replace("\\", "/"))


def _first(where: Where, text: str) -> Match | None:
    for rule in _OF[where]:
        matched = rule.pattern.search(text)
        if matched is not None:
            return _match(rule, matched)
    return None


def _match(rule: Rule, matched: re.Match[str]) -> Match:
    package = matched.groupdict().get("package") or ""
    return Match(rule, rule.library.format(package=_package(package)) if package else rule.library)


_VERSION = re.compile(r"-\d.*$")
_ESCAPED = re.compile(r"!([a-z])")


def _package(text: str) -> str:
    """Return a package's name without its version. Go's module cache writes capitals as ``!c``."""
    text = _ESCAPED.sub(lambda letter: letter[1].upper(), text)
    return _VERSION.sub("", text.removesuffix(".egg").removesuffix(".py")) or text


def canonical(path: str) -> str:
    """Return a path without ``.`` and ``..``. Leading ``..`` are dropped, as the folder they refer to is unknown."""
    if path.startswith(".") or "/../" in path or "/./" in path:
        path = posixpath.normpath(path)
        while path.startswith("../"):
            path = path[3:]
    return path


_ARGUMENTS = re.compile(r"<[^<>]*>")
_RUST_SIDE = re.compile(r"(?:&(?:'\w+ )?|mut |dyn |\*const |\*mut |\[|\()*(?P<crate>[a-z_]\w*)::")


@remembered(1 << 12)
def qualified(function: str, *, rust: bool = False) -> str:
    """Return a function's name with its namespaces, which the rules for functions match.

    C++ names lose the result's type, the arguments and the template arguments. Rust names become ``rust:`` and the
    crates of the function: those of both the type and the trait in ``<type as trait>::function``, as either may
    define it.
    """
    if rust:
        return _crates(function)
    if "(" not in function and "<" not in function and " " not in function:
        return function
    if function.startswith(("operator ", "(below")):
        return function
    text = function.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    while True:
        shorter = _ARGUMENTS.sub("", text)
        if shorter == text:
            break
        text = shorter
    return text.partition("(")[0].strip().rpartition(" ")[2]


def _crates(function: str) -> str:
    if not function.startswith("<"):
        crate = _RUST_SIDE.match(function)
        return f"rust:{crate['crate']}" if crate else function
    depth, end = 0, len(function)
    for at, letter in enumerate(function):
        depth += (letter == "<") - (letter == ">" and function[at - 1] != "-")
        if depth == 0:
            end = at
            break
    own, _, trait = function[1:end].partition(" as ")
    sides = [side["crate"] for text in (own, trait) if (side := _RUST_SIDE.match(text))]
    return f"rust:{','.join(sides)}" if sides else function
