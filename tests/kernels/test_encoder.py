import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from slowcat_memory.kernels import encoder, library
from slowcat_memory.kernels.encoder import Encoder, Shape
from tests.support import encoder_reference
from tests.support.kernel_levels import COMPILED

PLAIN, PAIRS = encoder.PLAIN, encoder.PAIRS  # what a level has besides its best instructions
SHAPE = Shape(
    layers=2, hidden=64, heads=2, inner=96, vocabulary=50, positions=40, pooling=encoder.MEAN,
    token_dim=16, epsilon=1e-12, checked=3,
)  # fmt: skip

pytestmark = pytest.mark.skipif(not COMPILED, reason="the compiled library is not here")


def write(path: Path, shape: Shape = SHAPE, seed: int = 1, **arrays: np.ndarray) -> Path:
    """Write a model of random weights, whose check passes."""
    random = np.random.default_rng(seed)
    made = {
        section.name: random.standard_normal(section.shape).astype(np.float32) * 0.3
        for section in encoder.layout(shape)
    }
    for section in encoder.layout(shape):
        name, _, part = section.name.rpartition(".")
        if part == "weights":
            columns = section.shape[0] * encoder.BLOCK
            weights = random.standard_normal((columns, section.shape[1] * 4)) * 0.1
            made |= encoder.matrix(name, weights.astype(np.float32), made[f"{name}.biases"])
        if part == "gain":
            made[section.name] += 1
    made["words"], made["word_scales"] = encoder.quantise_rows(made["words"])
    made["check_ids"] = np.arange(shape.checked)
    made |= arrays
    if "check_vector" not in arrays:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(encoder, "SAME", -2)
            encoder.write(path, shape, made)
            made["check_vector"], _ = encoder_reference.embed(
                Encoder(path), [*range(shape.checked)]
            )
    encoder.write(path, shape, made)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("model") / "packed.bin")


@pytest.mark.parametrize("level", COMPILED)
@pytest.mark.parametrize("instructions", [None, PLAIN, PAIRS])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 14, 15, 16, 17, 29, 40])
def test_encoder_computes_what_the_reference_does(
    path: Path, level: str, instructions: int | None, count: int
) -> None:
    with library.using(level):
        model = Encoder(path)
    if instructions is not None:
        if instructions > model._instructions:
            pytest.skip("this level has no such instructions")
        model._instructions = instructions
    ids = np.random.default_rng(count).integers(0, SHAPE.vocabulary, count).tolist()
    vector, tokens = model.run(ids, with_tokens=True)
    expected, of_tokens = encoder_reference.embed(model, ids, _steps(model))
    # A number near the middle of two steps of the quantisation may fall to either.
    np.testing.assert_allclose(vector, expected, atol=5e-3)
    np.testing.assert_allclose(tokens, of_tokens, atol=2e-2)
    assert vector @ expected > 0.9999


def _steps(model: Encoder) -> int:
    return 127 if model._instructions == PAIRS else 255


def test_encoder_each_number_of_tokens_has_an_answer_of_its_own(path: Path) -> None:
    model = Encoder(path)
    ids = np.random.default_rng(0).integers(0, SHAPE.vocabulary, SHAPE.positions).tolist()
    for count in range(1, SHAPE.positions + 1):
        expected, _ = encoder_reference.embed(model, ids[:count], _steps(model))
        assert model.run(ids[:count])[0] @ expected > 0.9999, count


def test_encoder_the_first_token_stands_for_the_text_where_the_model_says_so(
    tmp_path: Path,
) -> None:
    from msgspec.structs import replace

    model = Encoder(write(tmp_path / "first.bin", replace(SHAPE, pooling=encoder.FIRST)))
    expected, _ = encoder_reference.embed(model, [7, 8, 9], _steps(model))
    assert model.run([7, 8, 9])[0] @ expected > 0.9999
    assert (
        expected @ encoder_reference.embed(Encoder(write(tmp_path / "mean.bin")), [7, 8, 9])[0]
        < 0.99
    )


def test_encoder_threads_do_not_share_memory(path: Path) -> None:
    model = Encoder(path)
    random = np.random.default_rng(3)
    texts = [random.integers(0, SHAPE.vocabulary, n).tolist() for n in range(1, 33)]
    alone = [model.run(ids)[0] for ids in texts]
    start = threading.Barrier(4)

    def all_texts(_: int) -> list[np.ndarray]:
        start.wait()
        return [model.run(ids)[0] for ids in texts]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(all_texts, range(4)):
            assert np.array_equal(found, alone)


def test_encoder_a_brief_run_does_not_wait_for_a_busy_thread(path: Path) -> None:
    model = Encoder(path)
    if model._instructions <= PAIRS:
        pytest.skip("a brief run takes too long here to keep the lock")
    start, steps = threading.Event(), [0]

    def work() -> None:
        start.wait()
        for _ in range(1000):
            steps[0] += 1

    busy, interval = threading.Thread(target=work), sys.getswitchinterval()
    busy.start()
    sys.setswitchinterval(60)  # whoever gets the lock now keeps it until it gives it away
    try:
        start.set()
        for _ in range(500):
            model.run([1] * encoder.BRIEF)
        during = steps[0]
    finally:
        sys.setswitchinterval(interval)
        busy.join()
    assert during == 0 and steps[0] == 1000


def test_encoder_goes_on_when_the_library_is_switched_off(path: Path) -> None:
    model = Encoder(path)
    before = model.run([1, 2, 3])[0]
    with library.using(library.NUMPY):
        assert np.array_equal(model.run([1, 2, 3])[0], before)
        model.touch()
        assert not encoder.available()
        with pytest.raises(ValueError, match="compiled library is missing"):
            Encoder(path)


@pytest.mark.parametrize("damage", ["empty", "short", "long", "magic", "sizes", "weights"])
def test_encoder_a_damaged_file_is_refused(path: Path, tmp_path: Path, damage: str) -> None:
    bytes_ = bytearray(path.read_bytes())
    if damage == "empty":
        bytes_.clear()
    if damage == "short":
        del bytes_[-encoder.LINE :]
    if damage == "long":
        bytes_ += bytes(encoder.LINE)
    if damage == "magic":
        bytes_[7] ^= 1
    if damage == "sizes":
        bytes_[8:12] = (2**31 - 1).to_bytes(4, "little")
    if damage == "weights":
        for at in range(encoder.LINE, len(bytes_) - 1000):
            bytes_[at] = at * 7 % 251
    wrong = tmp_path / "damaged.bin"
    wrong.write_bytes(bytes_)
    with np.errstate(all="ignore"), pytest.raises(ValueError):
        Encoder(wrong)


def test_encoder_a_check_of_words_that_are_not_there_is_refused(tmp_path: Path) -> None:
    wrong = write(
        tmp_path / "wrong.bin",
        check_ids=np.array([1, 2, SHAPE.vocabulary]),
        check_vector=np.zeros(SHAPE.hidden, np.float32),
    )
    with pytest.raises(ValueError, match="damaged"):
        Encoder(wrong)


def test_encoder_the_file_is_mapped_not_read(path: Path) -> None:
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("this system does not list what is mapped")
    model = Encoder(path)
    model.touch()
    assert str(path.resolve()) in Path("/proc/self/maps").read_text()
