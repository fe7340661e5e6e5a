import json
import os
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.ranking.token_codes import SCALE, maxsim
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import EmbedderOptions, open_query_embedder
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.local import LocalEmbedder
from slowcat_memory.testing import check_embedder
from tests.support.other_process import python
from tests.support.rows import listed

TURNS = [text for (text,) in listed("text/turns")]


def test_local_contract(local: LocalEmbedder) -> None:
    check_embedder(local)


def test_local_a_query_finds_its_turn(local: LocalEmbedder) -> None:
    scores = local.encode(TURNS).vectors @ local.encode_query("what is my dog called?").vector
    assert int(scores.argmax()) == 0


def test_local_queries_are_unit_vectors_whatever_they_are(local: LocalEmbedder) -> None:
    for text in ("", "hm", "\ud800\x00", "long " * 200_000):
        vector = local.encode_query(text).vector
        assert vector.shape == (local.dim,) and vector.dtype == np.float32
        assert np.isclose(np.linalg.norm(vector), 1, atol=1e-4)


def test_local_queries_in_int8_are_close_to_documents_in_fp32(local: LocalEmbedder) -> None:
    queries = [local.encode_query(text) for text in TURNS]
    documents = local.encode(TURNS)
    cosines = (np.stack([query.vector for query in queries]) * documents.vectors).sum(axis=1)
    assert 0.985 < cosines.mean() < 0.9999, "two models"
    tokens = np.concatenate([query.tokens for query in queries])  # type: ignore[misc]
    cosines = (tokens * np.concatenate(documents.tokens)).sum(axis=1) / SCALE
    assert cosines.mean() > 0.985, cosines.mean()


def test_local_words_meet_their_words(local: LocalEmbedder) -> None:
    query = local.encode_query("what is my dog called?")
    assert query.tokens is not None and query.tokens.shape == (5, 96), "no [CLS], [SEP], or ?"
    codes = [token_codes.encode(rows) for rows in local.encode(TURNS).tokens]
    assert int(maxsim(query.tokens, codes).argmax()) == 0
    nothing = local.encode_query("?!")
    assert nothing.tokens is not None and nothing.tokens.shape == (0, 96)


def test_local_a_long_document_keeps_so_many_tokens(local, export_folder):
    long = " ".join(TURNS) * 3
    small = LocalEmbedder(export_folder, EmbedderOptions(doc_max_tokens=40))
    assert len(small.encode([long]).tokens[0]) == 40
    both = local.encode(["no", long, "yes"]).tokens
    assert [len(rows) for rows in both] == [1, 256, 1]


def test_local_a_prompt_leaves_no_tokens(export_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(export_folder, tmp_path / "prompted")
    meta = model_files.read_meta(folder)
    prompted = msgspec.structs.replace(meta, query_prompt="query: ", doc_prompt="a passage: ")
    (folder / model_files.META).write_bytes(msgspec.json.encode(prompted))
    embedder = LocalEmbedder(folder)
    assert embedder.encode_query("green tea").tokens.shape == (2, 96)  # type: ignore[union-attr]
    assert embedder.encode(["green tea"]).tokens[0].shape == (2, 96)


def test_local_a_long_document_is_read_to_its_end(local: LocalEmbedder) -> None:
    filler = "The weather was grey and nothing much happened. " * 40
    long = local.encode([filler + "We bought a sailing boat and a violin. " * 40]).vectors[0]
    cut = local.encode([filler]).vectors[0]
    boat = local.encode_query("sailing boat").vector
    assert long @ boat > cut @ boat + 0.1


@pytest.mark.parametrize(
    "damage",
    ["short", "missing", "not a model", "no tokenizer", "no meta", "no tokens", "other tokens"],
)
def test_local_a_damaged_export_is_an_error_that_says_so(export_folder, tmp_path, damage):
    folder = shutil.copytree(export_folder, tmp_path / "damaged")
    model = folder / model_files.MODEL
    if damage == "short":
        os.truncate(model, 1000)
    if damage == "missing":
        model.unlink()
    if damage == "not a model":
        model.write_bytes(b"\x5a" * model.stat().st_size)
    if damage == "no tokenizer":
        (folder / model_files.TOKENIZER).write_text("{}")
    if damage == "no tokens":
        (folder / model_files.TOKENS).write_bytes(b"PK")
    if damage == "other tokens":
        with np.load(folder / model_files.TOKENS) as file:
            parts = dict(file)
        np.savez(folder / model_files.TOKENS, **parts | {"projection": parts["projection"] * 2})
    if damage == "no meta":
        (folder / model_files.META).write_text("{}")
    with pytest.raises(ProviderError, match="Export it again"):
        LocalEmbedder(folder)


def test_local_engines_of_one_process_share_a_model(options: EmbedderOptions) -> None:
    first, second = open_query_embedder(options)[0], open_query_embedder(options)[0]
    assert first is second is not None
    assert open_query_embedder(replace(options, query_max_tokens=8))[0] is not first


HEAVY = {"torch", "transformers", "sentence_transformers", "sklearn", "scipy", "numba", "onnx"}
ELSEWHERE = {"openai", "huggingface_hub", "pipecat"}
TALK = """
import json, sys
from slowcat_memory.providers import *
options = EmbedderOptions(cache_dir=sys.argv[1])
embedder, report = open_query_embedder(options)
embedder.encode_query("hello"); embedder.encode(["hello"])
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_local_nothing_heavy_is_imported_in_the_process_that_talks(options):
    loaded = json.loads(python("-c", TALK, options.cache_dir).stdout)
    assert set(loaded) & (HEAVY | ELSEWHERE) == set()
