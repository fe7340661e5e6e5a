"""Compiles the library: ``python -m slowcat_memory.kernels.compiler [target]``.

A processor's levels are those of the x86-64 ABI: v1 is any such processor (on others: any), v2 has
SSSE3 and SSE 4.2, v3 AVX2, F16C and FMA, v4 AVX-512. Each C file is compiled for every level, and the one that the
processor has is chosen when the library is loaded: one file runs everywhere.

Only the standard library is imported: the build of the package runs this.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from slowcat_memory.kernels.sources import FOLDER, digest, library_path, sources

# NaN and infinity keep their meaning, but sums may be taken in any order: that is what vectors do.
FLAGS = (
    "-std=c11 -O3 -fPIC -fvisibility=hidden -fno-math-errno -fno-trapping-math"
    " -fno-signed-zeros -fassociative-math -ffp-contract=fast -Wall"
).split()
LEVELS = {
    "v4": "x86-64-v4",
    "v3": "x86-64-v3",
    "v2": "x86-64-v2",
    "v1": "",
}  # with -march for each, the best first
ABOUT = "library.c"  # the one file without a level
TARGETS = {  # as wheels are made for: zig's name of the target, tag of the wheel
    "linux-x86-64": ("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    "linux-arm64": ("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    "macos-x86-64": ("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    "macos-arm64": ("aarch64-macos.11.0", "macosx_11_0_arm64"),
}


class CompilerError(Exception):
    """There is no C compiler, or it failed; the message says which and why."""


def find_compiler() -> list[str]:
    """Return the command of a C compiler.

    Raises:
        CompilerError: There is none.
    """
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    return zig()


def zig() -> list[str]:
    """Return the command of the C compiler in the package ``ziglang``.

    Raises:
        CompilerError: The package is not installed.
    """
    if find_spec("ziglang") is None:
        raise CompilerError("there is no C compiler (cc, gcc, clang or the package ziglang)")
    return [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=undefined"]


def compile_library(out: Path, target: str = "") -> Path:
    """Compile all sources into one shared library, and return its path.

    Args:
        out: The library; it is replaced in one step, since processes may have it loaded.
        target: One of ``TARGETS`` for another machine, which needs ``ziglang``; "" for this one.

    Raises:
        CompilerError: There is no compiler, or it failed.
    """
    command = [*zig(), "-target", TARGETS[target][0]] if target else find_compiler()
    x86 = "x86-64" in target if target else platform.machine().lower() in ("x86_64", "amd64")
    with tempfile.TemporaryDirectory() as folder:
        objects, built = [], []
        for level in LEVELS if x86 else ("v1",):
            try:
                objects += _compile_level(command, level if x86 else "", Path(folder))
                built.append(level)
            except CompilerError:
                if level == "v1":
                    raise
        about = [f"-DDIGEST={digest()}LL", f'-DLEVELS="{" ".join(built)}"']
        objects.append(_compile(command, FOLDER / ABOUT, Path(folder) / "about.o", about))
        linked = out.with_name(f"{out.name}.{os.getpid()}")
        strip = ["-s"] if "ziglang" in command else []  # zig adds symbols for debuggers
        _run([*command, "-shared", *strip, "-o", str(linked), *map(str, objects), "-lm"])
        os.replace(linked, out)
    return out


def _compile_level(command: Sequence[str], level: str, folder: Path) -> list[Path]:
    """Compile all files for one level; "" is the only level of its processor."""
    flags = [f"-DLEVEL={level or 'v1'}"]
    if march := LEVELS.get(level):
        # zig spells a processor's name with underscores.
        flags.append(f"-march={march.replace('-', '_') if 'ziglang' in command else march}")
    if level == "v4" and "ziglang" not in command:
        flags.append("-mprefer-vector-width=512")
    files = [path for path in sources() if path.suffix == ".c" and path.name != ABOUT]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(
            pool.map(
                lambda path: _compile(
                    command, path, folder / f"{path.stem}.{level or 'v1'}.o", flags
                ),
                files,
            )
        )


def _compile(command: Sequence[str], path: Path, out: Path, flags: Sequence[str]) -> Path:
    _run([*command, *FLAGS, *flags, "-c", str(path), "-o", str(out)])
    return out


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CompilerError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    if done.stderr.strip():
        print(done.stderr, file=sys.stderr)


if __name__ == "__main__":
    print(compile_library(library_path(), *sys.argv[1:2]))
