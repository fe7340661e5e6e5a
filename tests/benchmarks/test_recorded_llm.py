"""The benchmarks' LLM without a model: recorded text through client, loop, store and index."""

from benchmarks import common, datasets, quality, recorded_llm
from slowcat_memory.engine import MemoryEngine
from tests.support import tiny_dataset as made_up


def think(folder, **choice):
    """Tell the made-up conversation to an engine, and have it think; return what it holds."""
    data = datasets.load(folder)
    with (
        common.scratch() as store,
        recorded_llm.thinking(folder, **choice) as thinker,
    ):
        config = common.configuration(store, embedding={"kind": "none"})
        engine = MemoryEngine(recorded_llm.configured(config), llm=thinker.llm)
        try:
            run, _ = quality.answer_all(engine, data, thinker=thinker)
            with engine.store.snapshot() as snapshot:
                origins = {turn.id: turn.origin for turn in snapshot.turns()}
                contexts = {origins[int(c.memory[6:])]: c.text for c in snapshot.contexts("c")}
                keys = [(origins[int(key.memory[6:])], key.text) for key in snapshot.keys("c")]
            return contexts, keys, recorded_llm.summary(engine), run
        finally:
            engine.close()


def test_recorded_llm_recorded_text_goes_the_whole_way(tmp_path):
    folder = made_up.write_notes(made_up.write(tmp_path / "data"))
    contexts, keys, thought, _ = think(folder, recorded=True)
    assert contexts == {
        "c/S1:0": "Ada names her reptile.",
        "c/S3:0": "Ada's vessel went down, the remains went to a relative.",
    }
    assert keys == [("c/S2:0", "Which watercraft cost ninety?")], "what nobody said is dropped"
    assert thought["contexts"] == 2 and thought["idle_tokens_in"] > 0


def test_recorded_llm_a_recorded_run_is_repeated_without_the_server(tmp_path):
    folder, file = made_up.write_notes(made_up.write(tmp_path / "data")), tmp_path / "answers.jsonl"
    first = think(folder, recorded=True, record=file)
    again = think(folder, replay=file)
    assert again[:2] == first[:2] and again[3] == first[3]


def test_recorded_llm_outputs_stand_in_where_there_are_no_notes(tmp_path):
    folder = made_up.write_outputs(made_up.write(tmp_path / "data"))
    contexts, keys, _, _ = think(folder, recorded=True)
    assert contexts == {} and keys == [("c/S1:0", "Ada's pet is a reptile.")]
    made_up.write_notes(folder)
    assert recorded_llm.read(folder).noted == {"c"}
    assert "c/S1:0" not in recorded_llm.read(folder).questions, "notes go first"


def test_recorded_llm_only_noted_conversations_are_kept(tmp_path):
    folder = made_up.write(tmp_path / "data")
    data = datasets.load(folder)
    assert recorded_llm.noted(data, folder).questions == []
    assert len(recorded_llm.noted(data, made_up.write_notes(folder)).questions) == len(
        data.questions
    )
