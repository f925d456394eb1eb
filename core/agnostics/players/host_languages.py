"""The host languages of a protocol, and the roots of sandboxes that have one of them or none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from agnostics.referee.protocol import HostLanguage
from agnostics.sandbox.root_folder import make_root
from agnostics.sandbox.toolchain import TOOLCHAIN_PATH
from agnostics.types.errors import MissingRequirement

SHELL = (
    *("sh", "ls", "cat", "cp", "mv", "rm", "mkdir", "rmdir", "ln", "chmod", "touch", "mktemp", "readlink", "realpath"),
    *("echo", "printf", "head", "tail", "wc", "sort", "uniq", "cut", "tr", "tee", "od", "cmp", "diff", "grep", "find"),
    *(
        "test",
        "[",
        "true",
        "false",
        "pwd",
        "env",
        "sleep",
        "timeout",
        "date",
        "basename",
        "dirname",
        "stat",
        "id",
        "dd",
    ),
)
"""What a root with a host language has beside it. Not bash, sed, awk and perl, which are languages, nor a compiler."""
_NODE_FOLDERS = (
    Path("/usr/share/nodejs/acorn"),
    Path("/usr/share/nodejs/cjs-module-lexer"),
    Path("/usr/share/nodejs/undici"),
)
"""What Debian's Node.js loads at its start; others have it within."""
PYTHON_WITHOUT = ("dist-packages", "site-packages", "__pycache__", "test", "idlelib", "tkinter", "ensurepip")
"""What is left out of the standard library."""
_COMPILERS = ("cc1", "cc1plus", "lto1", "lto-wrapper", "g++-mapper-server", "plugin", "include")
"""The parts of GCC that compile, without which it only links."""
_LINKED = (
    "*crt*.o",
    "libc.*",
    "libc_nonshared.a",
    *(f"lib{name}.*" for name in ("m", "mvec", "dl", "pthread", "rt", "util")),
)
"""The files of the C library with which programs are linked."""
_TIMEOUT_S = 30


def make_host_root(host_language: HostLanguage) -> Path | None:
    """The root of a sandbox that has this host language and no other; None for `any`, which needs no root of its own.

    Raises MissingRequirement if the language is not on this machine.
    """
    match host_language:
        case "any":
            return None
        case "none":
            return make_root(())
        case "python":
            library, static = python_folders()
            return make_root((*SHELL, "python3"), [library], [*PYTHON_WITHOUT, static.name])
        case "javascript":
            return make_root((*SHELL, "node"), filter(Path.is_dir, _NODE_FOLDERS))
        case "rust":
            return _make_rust_root()


_PYTHON_FOLDERS = """
import sysconfig
print(sysconfig.get_path("stdlib"), sysconfig.get_config_var("LIBPL"), sep="\\n")
"""


def python_folders() -> tuple[Path, Path]:
    """The standard library of this machine's Python, and the folder in it for programs that embed the interpreter."""
    library, static = _ask("python3", "-c", _PYTHON_FOLDERS)
    return Path(library), Path(static)


def _make_rust_root() -> Path:
    """With what links programs: GCC without its compilers, and the C library's files for it."""
    (sysroot,) = _ask("rustc", "--print", "sysroot")
    (library,) = _ask("cc", "-print-file-name=libc.so")
    (gcc,) = _ask("cc", "-print-libgcc-file-name")
    linked = [path for pattern in _LINKED for path in Path(library).resolve().parent.glob(pattern)]
    folders = [Path(sysroot, "lib", "rustlib"), Path(gcc).parent]
    return make_root((*SHELL, "rustc", "cc", "ld"), folders, _COMPILERS, linked)


def _ask(program: str, *arguments: str) -> list[str]:
    """What a program of this machine prints, by line. Raises MissingRequirement if there is none."""
    path = shutil.which(program, path=TOOLCHAIN_PATH)
    if path is None:
        raise MissingRequirement(f"the sandbox cannot have a host language alone that needs {program}; install it here")
    printed = subprocess.run(
        [path, *arguments], check=True, capture_output=True, text=True, timeout=_TIMEOUT_S, env={"PATH": TOOLCHAIN_PATH}
    )
    return printed.stdout.splitlines()
