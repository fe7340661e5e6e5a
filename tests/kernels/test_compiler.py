"""Compiling for other machines, and what a wheel is called."""

import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from slowcat_memory.kernels import compiler, sources

ROOT = sources.FOLDER.parent.parent
needs_zig = pytest.mark.skipif(not find_spec("ziglang"), reason="ziglang is not installed")


def test_compiler_a_broken_source_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    for path in sources.sources():
        shutil.copy(path, tmp_path)
    (tmp_path / "broken.c").write_text("this is not C")
    monkeypatch.setattr(compiler, "FOLDER", tmp_path)
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    with pytest.raises(compiler.CompilerError, match=r"broken\.c"):
        compiler.compile_library(tmp_path / "out.so")
    assert not (tmp_path / "out.so").exists()


def test_compiler_the_digest_follows_every_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path in sources.sources():
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    seen = {sources.digest()}
    for path in sources.sources():
        path.write_bytes(path.read_bytes() + b"\n")
        seen.add(sources.digest())
    assert len(seen) == len(sources.sources()) + 1


@pytest.mark.slow
@needs_zig
@pytest.mark.parametrize("target", compiler.TARGETS)
def test_compiler_zig_compiles_for_every_target(target: str, tmp_path: Path) -> None:
    out = compiler.compile_library(tmp_path / "library", target)
    magic = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe"}[target.partition("-")[0]]
    assert out.read_bytes().startswith(magic)


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("build") and find_spec("hatchling")), reason="build and hatchling are missing"
)
@pytest.mark.parametrize("pure", [True, False])
def test_compiler_a_wheel_with_the_library_is_one_for_its_platform(
    pure: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pure and not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    monkeypatch.setenv("SLOWCAT_PURE", "1" if pure else "")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    inside = [name for name in names if "slowcat_kernels" in name]
    assert (wheel.stem.endswith("-any"), len(inside)) == (pure, 0 if pure else 1)
    assert "slowcat_memory/kernels/lexical.c" in names
