"""What all commands share: a fast start, help, errors in one line."""

import resource
import subprocess
import sys

import pytest

from slowcat_memory.cli.app import app
from slowcat_memory.engine import MemoryEngine

HEAVY = ["faiss", "bm25s", "torch", "openai", "pipecat", "onnxruntime", "numpy", "lmdb"]


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=60)


def test_app_help_is_there_at_once_and_loads_nothing_heavy() -> None:
    script = (
        "import sys; from slowcat_memory.cli.app import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        f"print(sorted(set({HEAVY}) & set(sys.modules)))"
    )
    begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime  # the machine may be busy
    ran = python("-c", script)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stderr
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun
    assert took < 3, f"{took:.1f} s"  # 0.3 s on an idle machine


def test_app_the_list_of_commands_holds_them_all(sm) -> None:
    text = sm.ok("--help")
    names = {c.name for c in app.registered_commands} | {"config"}
    assert all(f" {name} " in text for name in names)


def test_app_version(sm) -> None:
    assert sm.ok("--version").startswith("slowcat-memory ")


def test_app_as_a_program_it_tells_an_error_in_one_line(sm) -> None:
    ran = python("-m", "slowcat_memory.cli", "--path", str(sm.store), "why")
    assert (ran.returncode, ran.stdout) == (1, "")
    remedy = "Run `slowcat-memory init`, or start your bot."
    assert ran.stderr == f"Error: no memory at {sm.store} yet. {remedy}\n"


def test_app_what_cannot_be_a_folder_or_a_scope_is_refused(sm) -> None:
    sm.store = sm.config / "below-a-file"
    said = sm.fails("remember", "x")
    assert "cannot make" in said and "another folder" in said
    sm.store = sm.folder / "memory"
    assert "--user 'No Good' cannot name a memory" in sm.fails(
        "remember", "x", "--scope", "No Good"
    )


def test_app_ctrl_c_is_quiet(filled, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryEngine, "search", interrupt)
    result = filled("search", "dog")
    assert (result.exit_code, result.output) == (130, "")
    assert "Nothing found" not in result.output


def test_app_a_store_of_another_format_is_refused(filled) -> None:
    import lmdb

    from slowcat_memory.store.disk import codec, keys
    from slowcat_memory.store.disk.tables import FORMAT_ROW

    env = lmdb.open(str(filled.store), max_dbs=20)
    key = keys.name_key(FORMAT_ROW)
    with env.begin(write=True, db=env.open_db(b"meta")) as txn:
        txn.put(key, codec.encode_meta(key, "slowcat-99"))
    env.close()
    for command in (("facts",), ("remember", "x")):
        assert "slowcat-memory export" in filled.fails(*command)
