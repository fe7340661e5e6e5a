from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.config.config import Config
from slowcat_memory.config.knobs import KNOBS, options
from slowcat_memory.config.loader import build, build_options, default_file, file_to_read, load
from slowcat_memory.errors import ConfigError
from tests.support.rows import each_listed

NO_FILE = {"SLOWCAT_CONFIG": ""}


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text)
    return path


def test_load_without_a_file_gives_the_defaults() -> None:
    assert load(None, NO_FILE) == Config() == build({}) == build_options({})
    assert (
        build_options({"icebreakers": {}, "ask": {}}) == Config()
    )  # an empty section is no option
    assert Config().folder == Path.home() / ".slowcat"


# ------------------------------------------------------------------- which file is read


def test_file_to_read_prefers_the_named_one_then_the_environment_then_the_default_place(
    tmp_path, monkeypatch, lines
):
    monkeypatch.setenv("HOME", str(tmp_path))
    named, other = tmp_path / "a.toml", tmp_path / "b.toml"
    assert file_to_read(named, {"SLOWCAT_CONFIG": str(other)}) == named
    assert file_to_read(None, {"SLOWCAT_CONFIG": str(other)}) == other
    assert file_to_read(None, {}) is None
    default_file().parent.mkdir()
    default_file().write_text("[recall]\nmemories = 3\n")
    assert default_file() == tmp_path / ".slowcat/config.toml"
    assert file_to_read(None, {}) == default_file()
    assert file_to_read(None, NO_FILE) is None
    assert load(None, {}).pack.memories == 3
    assert lines == [f"INFO configuration: {default_file()}"]


# ------------------------------------------------------------------- what is wrong is named


@each_listed("config_faults", "a misspelt key")
def test_load_names_a_misspelt_key_and_the_nearest_one(tmp_path, toml, where, hint):
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, toml), {})
    assert caught.value.message == f"{where}: no such key"
    assert hint in caught.value.hint


@each_listed("config_faults", "a wrong value")
def test_load_names_a_wrong_value_and_its_range(tmp_path, toml, message, hint):
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, toml), {})
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_load_of_a_missing_or_unreadable_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere.toml: No such file.*init"):
        load(tmp_path / "nowhere.toml", {})
    with pytest.raises(ConfigError, match=r"cannot read .*: Is a directory"):
        load(tmp_path, {})
    with pytest.raises(ConfigError, match=r"config.toml is not TOML: .*line 1"):
        load(written(tmp_path, "[recall\n"), {})
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not TOML"):
        load(tmp_path / "config.toml", {})


toml_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
any_key = st.sampled_from([path.rpartition(".")[-1] for path in KNOBS]) | st.text()
any_section = st.sampled_from([*Config.__struct_fields__, "expert", "jobs", "idle_llm"]) | st.text()


@given(st.dictionaries(any_section, toml_value | st.dictionaries(any_key, toml_value), max_size=3))
def test_build_of_any_values_gives_a_configuration_or_a_config_error(values: dict) -> None:
    try:
        assert isinstance(build(values), Config)
    except ConfigError as error:
        assert error.message


# ------------------------------------------------------------------- precedence


def test_build_prefers_the_environment_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "[recall]\nmemories = 5")
    assert load(path, {}).pack.memories == 5
    config = load(path, {"SLOWCAT_RECALL__MEMORIES": "7", "SLOWCAT_RECALL__DEADLINE_MS": "12.5"})
    assert config.pack.memories == 7 and config.recall.deadline_ms == 12.5


def test_load_environment_sets_lists_jobs_and_expert_options() -> None:
    environ = {
        **NO_FILE,
        "SLOWCAT_FACTS__TYPES": "person,, order ,",
        "SLOWCAT_JOBS__FACTS__EVERY_S": "60",
        "SLOWCAT_EXPERT__FUSE__DENSE": "0.5",
    }
    made = load(None, environ)
    assert made.facts.types == ("person", "order") and made.fuse.dense == 0.5
    assert made.idle.jobs["facts"].every_s == 60


def test_loader_environment_with_an_unknown_name_is_a_warning(lines: list[str]) -> None:
    known = {"SLOWCAT_CACHE_DIR": "/tmp", "OTHER": "x", "SLOWCAT_RECALL__MEMORIES": "3"}
    assert build({}, {**known, "SLOWCAT_RECALL__MEMRIES": "9"}).pack.memories == 3
    told = "SLOWCAT_RECALL__MEMRIES sets no knob and is ignored. Did you mean recall.memories?"
    assert lines == [f"WARNING {told}"]


# ------------------------------------------------------------------- jobs and expert options


@pytest.mark.parametrize("table", [{"fuse.dense": 0.5}, {"fuse": {"dense": 0.5}}])
def test_loader_expert_options_may_be_dotted_or_nested(table: dict) -> None:
    assert build({"expert": table}).fuse.dense == 0.5


# ------------------------------------------------------------------- the knobs


def test_knobs_set_existing_options_each_once() -> None:
    targets = list(KNOBS.values())
    assert len(set(targets)) == len(targets) <= 65
    assert set(targets) <= {target for target, *_ in options()}


def test_options_are_explained_beside_the_code_that_they_tune() -> None:
    for name in Config.__struct_fields__:
        section = getattr(Config(), name)
        for option in getattr(section, "__struct_fields__", ()):
            assert f"\n        {option}: " in (type(section).__doc__ or ""), f"{name}.{option}"
