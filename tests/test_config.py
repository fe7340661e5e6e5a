from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger

from slowcat_memory.config import PRESETS, Config, build, knobs, load
from slowcat_memory.errors import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text)
    return path


def test_no_file_means_the_defaults() -> None:
    assert load(None, {}) == Config() == build({})
    assert Config().folder == Path.home() / ".slowcat"


# ------------------------------------------------------------------- what is wrong is named


@pytest.mark.parametrize(
    ("toml", "where", "hint"),
    [
        ("[recall]\ndeadline = 5", "recall.deadline", "recall.deadline_ms"),
        ("[recall]\nflor = 0.5", "recall.flor", "recall.floor"),
        ("[recal]\nfloor = 0.5", "recal", "recall"),
        ("[memory]\ndeadline_ms = 5", "memory.deadline_ms", "recall.deadline_ms"),
        ("deadline_ms = 5", "deadline_ms", "recall.deadline_ms"),
        (
            "[store.durability]\nx = 1\n[pack]\nbudget = 1",
            "pack.budget",
            "pack.memory_token_budget",
        ),
        ("[zzzzzz]", "zzzzzz", "config.toml shows every knob"),
    ],
)
def test_a_misspelt_key_is_an_error_with_its_path_and_the_nearest_name(
    tmp_path: Path, toml: str, where: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, toml), {})
    assert caught.value.message == f"{where}: there is no such key"
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('[recall]\ndeadline_ms = "soon"', "recall.deadline_ms: Expected `float`, got `str`"),
        ("[index]\ncandidates = 2.5", "index.candidates: Expected `int`, got `float`"),
        ("[memory]\npath = 5", "memory.path: Expected `str`, got `int`"),
        ('[pack]\nnow = "magic"', "pack.now: Invalid enum value 'magic'"),
        ("[memory.path]\nx = 1", "memory.path: Expected `str`, got `object`"),
        ("[embedding.kind]\nx = 1", "embedding.kind: Expected `str`, got `object`"),
        ("memory = 5", "memory: Expected `object`, got `int`"),
        ("[llm]\nallow_remote = [1]", "llm.allow_remote: Expected `bool`, got `array`"),
    ],
)
def test_a_wrong_value_is_an_error_with_its_path(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, toml), {})
    assert caught.value.message == message


@pytest.mark.parametrize(
    "toml", ['preset = "huge"', "preset = 5", 'preset = ["small"]', "[preset]"]
)
def test_an_unknown_preset_is_an_error_that_lists_the_presets(tmp_path: Path, toml: str) -> None:
    with pytest.raises(ConfigError, match="preset: there is none called") as caught:
        load(written(tmp_path, toml), {})
    assert caught.value.hint == "Take one of default, small, quality"


def test_a_file_that_is_missing_or_no_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read .*nowhere.toml: No such file.*init"):
        load(tmp_path / "nowhere.toml", {})
    with pytest.raises(ConfigError, match="cannot read .*: Is a directory"):
        load(tmp_path, {})
    with pytest.raises(ConfigError, match="config.toml is not TOML: .*line 1"):
        load(written(tmp_path, "[recall\n"), {})
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not TOML"):
        load(tmp_path / "config.toml", {})


toml_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
any_key = st.sampled_from([path.rpartition(".")[-1] for path, _ in knobs()]) | st.text()
any_section = st.sampled_from(Config.__struct_fields__) | st.text()


@given(st.dictionaries(any_section, toml_value | st.dictionaries(any_key, toml_value), max_size=3))
def test_any_values_give_a_configuration_or_an_error_of_ours(values: dict) -> None:
    try:
        assert isinstance(build(values), Config)
    except ConfigError as error:
        assert error.message


# ------------------------------------------------------------------- precedence


def test_the_environment_wins_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    path = written(tmp_path, 'preset = "small"\n[pack]\nmemories = 5')
    small = PRESETS["small"]["pack"]
    config = load(path, {})
    assert config.preset == "small" and config.pack.memories == 5 != small["memories"]
    assert config.pack.memory_token_budget == small["memory_token_budget"]
    config = load(path, {"SLOWCAT_PACK__MEMORIES": "7", "SLOWCAT_RECALL__DEADLINE_MS": "12.5"})
    assert config.pack.memories == 7 and config.recall.deadline_ms == 12.5
    assert config.pack.memory_token_budget == small["memory_token_budget"]
    config = load(path, {"SLOWCAT_PRESET": "quality"})
    assert config.preset == "quality" and config.pack.memories == 5
    assert config.pack.memory_token_budget == 800


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "[recall]\nfloor = 0.7")
    assert load(None, {"SLOWCAT_CONFIG": str(path)}).recall.floor == 0.7
    other = tmp_path / "other.toml"
    other.write_text("[recall]\nfloor = 0.1")
    assert load(other, {"SLOWCAT_CONFIG": str(path)}).recall.floor == 0.1


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("false", False), ("1", True), ("0", False)]
)
def test_switches_in_the_environment(text: str, value: bool) -> None:
    assert load(None, {"SLOWCAT_LLM__ALLOW_REMOTE": text}).llm.allow_remote is value


def test_a_wrong_value_in_the_environment_is_an_error_with_its_path() -> None:
    with pytest.raises(ConfigError, match="recall.deadline_ms: Expected `float`"):
        load(None, {"SLOWCAT_RECALL__DEADLINE_MS": "soon"})


def test_an_unknown_name_in_the_environment_is_a_warning() -> None:
    heard: list[str] = []
    sink = logger.add(heard.append, level="WARNING", format="{message}")
    try:
        known = {"SLOWCAT_CACHE_DIR": "/tmp", "OTHER": "x", "SLOWCAT_RECALL__FLOOR": "0.2"}
        assert load(None, {**known, "SLOWCAT_RECALL__FLOR": "0.9"}).recall.floor == 0.2
    finally:
        logger.remove(sink)
    assert [line.strip() for line in heard] == [
        "SLOWCAT_RECALL__FLOR sets no knob and is ignored. Did you mean recall.floor?"
    ]


# ------------------------------------------------------------------- the presets and the knobs


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_configuration(preset: str) -> None:
    config = build({"preset": preset})
    assert config.preset == preset
    for section, values in PRESETS[preset].items():
        for name, value in values.items():
            assert getattr(getattr(config, section), name) == value


def test_every_knob_is_listed_with_its_default() -> None:
    listed = dict(knobs())
    assert listed["recall.deadline_ms"] == 10.0 and listed["preset"] == "default"
    plain = msgspec.to_builtins(Config())
    flat = {
        f"{section}.{name}": value
        for section, values in plain.items()
        if isinstance(values, dict)
        for name, value in values.items()
    }
    assert flat.pop("idle.jobs") == {}
    assert {**flat, "preset": plain["preset"]} == listed


def test_every_knob_is_explained_beside_the_code_that_it_tunes() -> None:
    for name in Config.__struct_fields__:
        section = getattr(Config(), name)
        for knob in getattr(section, "__struct_fields__", ()):
            assert f"\n        {knob}: " in (type(section).__doc__ or ""), f"{name}.{knob}"


def in_environment(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_knob_can_be_set_from_the_environment() -> None:
    for path, default in knobs():
        name = "SLOWCAT_" + path.upper().replace(".", "__")
        assert build({}, {name: in_environment(default)}) == Config(), name


def test_a_list_in_the_environment_has_commas() -> None:
    made = build({"entities": {"types": ["pet"]}}, {"SLOWCAT_ENTITIES__TYPES": "person,, order ,"})
    assert made.entities.types == ("person", "order")


# ------------------------------------------------------------------- what a query is read for


def test_the_sections_on_queries_and_extracts_are_read(tmp_path: Path) -> None:
    toml = (
        "[ask]\nnames = false\ntimes = false\nfollow_up = false\ndialogue = 0.25\n"
        "[recall]\nfloor = 0.3\n[rank]\nnamed = 0.1\nwhen = 0.2\n[fuse]\nsession = 0.5\nrerank = 7"
    )
    made = load(written(tmp_path, toml), {"SLOWCAT_ASK__DIALOGUE": "0.75"})
    assert (made.ask.names, made.ask.times, made.ask.follow_up) == (False, False, False)
    assert made.ask.dialogue == 0.75 and made.recall.floor == 0.3
    assert (made.rank.named, made.rank.when) == (0.1, 0.2)
    assert (made.fuse.session, made.fuse.rerank) == (0.5, 7)
    paths = {path for path, *_ in knobs()}
    assert {"ask.names", "ask.times", "ask.follow_up", "ask.dialogue"} <= paths
    assert {path.partition(".")[0] for path in paths} >= {"ask", "extract"}


@pytest.mark.parametrize("preset", PRESETS)
def test_what_a_query_is_read_for_is_the_same_in_every_preset(preset: str) -> None:
    made = load(None, {"SLOWCAT_PRESET": preset})
    assert made.preset == preset
    assert (made.ask, made.rank) == (Config().ask, Config().rank)
    assert 0 < made.recall.floor < 1 and 0 < made.recall.keep_share < 1
