import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowcat_memory.kernels import compiler, library, sources
from tests.support.kernel_levels import COMPILED


def compiler_here() -> bool:
    try:
        return bool(compiler.find_compiler())
    except compiler.CompilerError:
        return False


def level_in_a_process(tmp_path: Path, **environment: str) -> str:
    code = "from slowcat_memory.kernels import library; print(library.in_use())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(sources.FOLDER.parent.parent), "PATH": os.environ["PATH"]} | environment,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.mark.skipif(not compiler_here(), reason="there is no C compiler")
def test_library_is_compiled_from_the_sources_that_are_here() -> None:
    assert COMPILED, library.in_use()


def test_library_the_switch_chooses_numpy(tmp_path: Path) -> None:
    assert level_in_a_process(tmp_path, SLOWCAT_KERNELS="numpy") == "numpy (SLOWCAT_KERNELS=numpy)"


def test_library_a_switch_that_names_no_level_is_reported_and_ignored(tmp_path: Path) -> None:
    in_use = level_in_a_process(tmp_path, SLOWCAT_KERNELS="fast")
    assert in_use.startswith(library.levels()[0]) and "fast is none of" in in_use


@pytest.mark.parametrize("bytes_", [None, b"", b"not a library"])
def test_library_a_missing_or_broken_one_leaves_numpy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bytes_: bytes | None
) -> None:
    path = tmp_path / "slowcat_kernels.so"
    if bytes_ is not None:
        path.write_bytes(bytes_)
    monkeypatch.setattr(library, "library_path", lambda: path)
    state = library._State()
    state.load()
    assert state.levels == [library.NUMPY] == [state.level] and "no compiled library" in str(state)


@pytest.mark.skipif(not COMPILED, reason="there is no compiled library")
def test_library_of_other_sources_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "digest", lambda: 1)
    state = library._State()
    state.load()
    assert state.level == library.NUMPY and "other sources" in str(state)


def test_library_a_level_that_is_not_here_is_refused() -> None:
    with pytest.raises(ValueError, match="v9 is none of"), library.using("v9"):
        pass


@pytest.mark.skipif(not COMPILED, reason="there is no compiled library")
def test_library_no_compiler_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    with pytest.raises(compiler.CompilerError, match="no C compiler"):
        compiler.find_compiler()
