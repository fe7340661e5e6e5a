"""init and config: what is configured, and where it comes from."""

import json
import re
import stat
import tomllib
from pathlib import Path

import pytest

from slowcat_memory import config as configuration
from slowcat_memory.cli.setup import config_file, model_servers
from slowcat_memory.errors import ModelNotFoundError

REPOSITORY = Path(__file__).parents[3]


def uncommented(text: str) -> str:
    return re.sub(r"(?m)^#(\w+ = )", r"\1", text)


# ------------------------------------------------------------------- config.toml


def test_the_rendered_file_changes_nothing() -> None:
    assert configuration.build(tomllib.loads(config_file.render_config())) == configuration.Config()


def test_the_rendered_file_shows_every_knob_with_its_default_and_its_words() -> None:
    values = tomllib.loads(uncommented(config_file.render_config()))
    assert configuration.build(values) == configuration.Config()
    shown = {
        f"{section}.{key}" if isinstance(table, dict) else section: value
        for section, table in values.items()
        for key, value in (table.items() if isinstance(table, dict) else [("", table)])
    }
    assert shown == json.loads(json.dumps(dict(configuration.knobs()))), "TOML has no tuples"
    for _, options in [("", configuration.Config), *config_file.sections()]:
        words = config_file.describe(options)
        assert words.summary and set(words.knobs) == set(options.__struct_fields__), options


def test_the_repositorys_config_is_up_to_date() -> None:
    text = (REPOSITORY / "config.toml").read_text()
    assert text == config_file.render_config(), "run `make docs`"


def test_lines_are_not_too_long() -> None:
    assert max(map(len, config_file.render_config().splitlines())) <= 100


# ------------------------------------------------------------------- config check, config show


def test_check_says_what_is_changed_and_by_what(sm, monkeypatch: pytest.MonkeyPatch) -> None:
    sm.config.write_text('preset = "small"\n[recall]\ndeadline_ms = 12\n[embedding]\nkind="none"\n')
    monkeypatch.setenv("SLOWCAT_PACK__MEMORIES", "3")
    changed = {knob["knob"]: knob for knob in sm.json("config", "check")["changed"]}
    assert changed["recall.deadline_ms"] == {
        "knob": "recall.deadline_ms",
        "value": 12.0,
        "default": 10.0,
        "from": str(sm.config),
    }
    origins = {name: knob["from"] for name, knob in changed.items()}
    assert origins["pack.memories"] == "SLOWCAT_PACK__MEMORIES"
    assert origins["store.durability"] == "preset small"
    assert origins["memory.path"] == "--path"
    assert "SLOWCAT_PACK__MEMORIES" in sm.ok("config", "check")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "[recall]\ndeadlin_ms = 3",
            "recall.deadlin_ms: there is no such key. Did you mean recall",
        ),
        ("[recal]\ndeadline_ms = 3", "recal: there is no such key"),
        ("[recall]\ndeadline_ms = 'x'", "recall.deadline_ms: Expected `float`"),
        ("[recall", "is not TOML"),
        ("preset = 'huge'", "preset: there is none called 'huge'"),
        ("[memory]\ntime_zone = 'Nix/Da'", "memory.time_zone: there is no 'Nix/Da'"),
        ("[memory]\nuser_id = 'No Good'", "'No Good' cannot name a scope"),
        ("[index]\nlanguage = 'klingon'", "index.language: no stemmer for 'klingon'"),
        ("[embedding]\nkind = 'endpoint'", "endpoint_model is empty"),
    ],
)
def test_check_refuses_what_is_wrong(sm, text: str, reason: str) -> None:
    sm.config.write_text(text)
    assert reason in sm.fails("config", "check")


def test_check_of_a_file_by_name(sm) -> None:
    other = sm.folder / "other.toml"
    other.write_text("[pack]\nmemories = 9\n[embedding]\nkind='none'\n")
    assert "pack.memories" in sm.ok("config", "check", str(other))
    assert "cannot read" in sm.fails("config", "check", "nowhere.toml")


def test_an_unknown_key_stops_every_command(filled) -> None:
    filled.config.write_text("[recall]\ndeadlin_ms = 3")
    assert "Did you mean recall.deadline_ms?" in filled.fails("search", "dog")


def test_show_is_toml_that_can_be_read_back(sm) -> None:
    shown = configuration.build(tomllib.loads(sm.ok("config", "show")))
    assert shown.embedding.kind == "none" and shown.folder == sm.store
    assert sm.json("config", "show")["embedding"]["kind"] == "none"


# ------------------------------------------------------------------- init


@pytest.fixture
def fresh(sm, monkeypatch: pytest.MonkeyPatch):
    """No configuration yet, no model wanted, and no server."""
    sm.config.unlink()
    monkeypatch.setenv("SLOWCAT_EMBEDDING__KIND", "none")
    monkeypatch.setattr(model_servers, "find_servers", lambda: [])
    return sm


def test_init_writes_a_config_and_makes_a_store(fresh) -> None:
    text = fresh.ok("init")
    assert f"{fresh.config} (written)" in text and "for you alone" in text
    assert "GB free" in text and f"SLOWCAT_CONFIG={fresh.config}" in text
    assert stat.S_IMODE(fresh.store.stat().st_mode) == 0o700
    assert configuration.load(fresh.config, {}).folder == fresh.store


def test_init_again_changes_nothing(fresh) -> None:
    fresh.ok("init")
    fresh.config.write_text("# mine\n")
    found = fresh.json("init")
    assert "there already" in found["configuration"]["found"]
    assert "there already" in found["store"]["found"]
    assert fresh.config.read_text() == "# mine\n"


def test_init_names_the_servers(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    server = model_servers.Server("Ollama", "http://127.0.0.1:11434/v1", ("gemma", "qwen"))
    monkeypatch.setattr(model_servers, "find_servers", lambda: [server])
    found = fresh.json("init")["LLM server"]["found"]
    assert found == "Ollama at http://127.0.0.1:11434/v1 (gemma, qwen)"


def test_init_without_a_model_goes_on(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    from slowcat_memory import providers

    def missing(*args: object) -> None:
        raise ModelNotFoundError("no such model", hint="Install one.")

    monkeypatch.setenv("SLOWCAT_EMBEDDING__KIND", "local")
    monkeypatch.setenv("SLOWCAT_CACHE_DIR", str(fresh.folder / "cache"))
    monkeypatch.setattr(providers, "export_model", missing)
    found = fresh.json("init")["embedding"]
    assert found["ok"] is False and "search is by words only" in found["found"]
    assert "not ready" in fresh.json("init", "--no-model")["embedding"]["found"]


def test_init_where_no_store_can_be(fresh) -> None:
    fresh.store = Path("/dev/null/store")
    assert "cannot make /dev/null/store" in fresh.fails("init")
