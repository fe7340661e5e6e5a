import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import EmbedderOptions, ExactEmbedder, open_document_embedder
from slowcat_memory.providers.embedding import export_format
from slowcat_memory.providers.embedding.export_format import Meta
from slowcat_memory.providers.embedding.worker.handle import MAX_DEATHS
from slowcat_memory.providers.embedding.worker.process import NICENESS
from slowcat_memory.testing import check_embedder

META = Meta(
    key="good@0/8", name="good", dim=8, max_tokens=64, query_prompt="", doc_prompt="", int8=True,
    cosine=1.0, model_bytes=0, exact_bytes=0, stamp="", token_key="good@0/8~0/4", token_dim=4,
)  # fmt: skip


def make(fake_child: str, way: str = "good", **more: object) -> ExactEmbedder:
    options = EmbedderOptions(batch_size=4)
    return ExactEmbedder(options, Path(way), META, module=fake_child, **more)  # type: ignore[arg-type]


def pid_of(embedder: ExactEmbedder) -> int:
    assert embedder._process
    return embedder._process.pid


def gone(pid: int, within_s: float = 30.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_handle_contract(sentence: ExactEmbedder) -> None:
    check_embedder(sentence)


def test_handle_the_real_child_is_humble(sentence: ExactEmbedder) -> None:
    sentence.encode(["hello"])
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, pid_of(sentence)) == min(19, ours + NICENESS)
    assert os.getpgid(pid_of(sentence)) == pid_of(sentence)
    assert os.getsid(pid_of(sentence)) == os.getsid(0)


def test_handle_opening_knows_the_space_before_the_child_starts(options: EmbedderOptions) -> None:
    embedder, report = open_document_embedder(options)
    assert isinstance(embedder, ExactEmbedder) and report.state == "ready"
    assert (report.key, report.dim) == (embedder.key, embedder.dim) and report.dim == 384
    assert embedder._process is None


def test_handle_tokens_come_with_the_vectors(fake_child: str) -> None:
    embedder = make(fake_child)
    texts = [" ".join("x" * n) for n in range(10)]
    made = embedder.encode_tokens(texts)
    assert [rows.shape for rows in made.tokens] == [(n, 4) for n in range(10)]
    assert all((rows == len(text)).all() for rows, text in zip(made.tokens, texts, strict=True))
    assert np.array_equal(made.vectors, embedder.encode(texts))
    embedder.close()


def test_handle_tokens_of_another_export_are_refused(
    options: EmbedderOptions, export_folder: Path
) -> None:
    meta = export_format.read_meta(export_folder)
    assert meta
    other = msgspec.structs.replace(meta, token_key=f"{meta.key}~another/96")
    embedder = ExactEmbedder(options, export_folder, other)
    with pytest.raises(ProviderError, match="export has changed"):
        embedder.encode_tokens(["a"])
    embedder.close()


def test_handle_an_export_that_is_gone_is_named_by_the_child(tmp_path: Path) -> None:
    embedder = ExactEmbedder(EmbedderOptions(), tmp_path / "gone", META)
    with pytest.raises(ProviderError, match="gone is damaged"):
        embedder.encode(["hello"])
    embedder.close()


def test_handle_batches_and_progress_in_spite_of_stray_prints(fake_child: str) -> None:
    embedder, seen = make(fake_child), []
    texts = ["x" * n for n in range(1, 11)]
    vectors = embedder.encode(texts, seen.append)
    assert seen == [4, 8, 10]
    assert (np.diff(vectors[:, 0]) > 0).all()
    embedder.close()


def test_handle_a_caller_may_stop_between_batches(fake_child: str) -> None:
    def stop(done: int) -> None:
        raise InterruptedError

    embedder = make(fake_child)
    with pytest.raises(InterruptedError):
        embedder.encode(["a"] * 10, stop)
    assert embedder.encode(["a", "b"]).shape == (2, 8)
    embedder.close()


def test_handle_close_ends_the_child_and_encode_starts_another(fake_child: str) -> None:
    embedder = make(fake_child)
    embedder.encode(["a"])
    first = pid_of(embedder)
    embedder.close()
    embedder.close()
    assert gone(first)
    embedder.encode(["a"])
    assert pid_of(embedder) != first
    embedder.close()


@pytest.mark.parametrize("way", ["die", "babble", "half", "short"])
def test_handle_a_lost_child_is_an_error_and_the_next_call_starts_another(
    fake_child: str, way: str
) -> None:
    embedder = make(fake_child)
    embedder.encode(["a"])
    first = pid_of(embedder)
    with pytest.raises(ProviderError, match="code"):
        embedder.encode([way, "b"])
    assert gone(first)
    assert embedder.encode(["a"]).shape == (1, 8)
    embedder.close()


def test_handle_a_child_killed_between_calls_is_an_error_once(fake_child: str) -> None:
    embedder = make(fake_child)
    embedder.encode(["a"])
    os.kill(pid_of(embedder), signal.SIGKILL)
    with pytest.raises(ProviderError, match="died"):
        embedder.encode(["a"])
    embedder.encode(["a"])
    embedder.close()


def test_handle_a_fault_is_an_error_and_the_child_lives(fake_child: str) -> None:
    embedder = make(fake_child)
    with pytest.raises(ProviderError, match="MemoryError"):
        embedder.encode(["fault"])
    first = pid_of(embedder)
    embedder.encode(["a"])
    assert pid_of(embedder) == first
    embedder.close()


def test_handle_a_child_that_does_not_answer_is_killed(fake_child: str) -> None:
    embedder = make(fake_child, "hangs", reply_s=0.3)
    with pytest.raises(ProviderError, match="died"):
        embedder.encode(["a"])


def test_handle_close_does_not_wait_for_a_call_at_work(fake_child: str) -> None:
    embedder = make(fake_child, "hangs")
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(embedder.encode, ["a"] * 10)
        while embedder._process is None:
            time.sleep(0.01)
        child = pid_of(embedder)
        embedder.close()
        with pytest.raises(ProviderError, match="closed during a call"):
            call.result(30)
    assert gone(child)
    assert embedder._deaths == 0 and embedder._process is None


def test_handle_after_some_deaths_it_stays_dead(fake_child: str) -> None:
    embedder = make(fake_child, "dies-at-start")
    for _ in range(MAX_DEATHS):
        with pytest.raises(ProviderError, match="no room for the weights"):
            embedder.encode(["a"])
    with pytest.raises(ProviderError, match="in a row"):
        embedder.encode(["a"])


def test_handle_the_child_goes_when_its_parent_is_killed(fake_child: str) -> None:
    program = f"""
import time
from tests.providers.embedding.worker.test_handle import make
embedder = make({fake_child!r})
embedder.encode(["a"])
print(embedder._process.pid, flush=True)
time.sleep(60)
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=env
    )
    assert parent.stdout
    with parent:
        child = int(parent.stdout.readline())
        parent.kill()
    assert gone(child)
