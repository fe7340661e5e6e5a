import json
import re
import tomllib

import pytest

from slowcat_memory import config as configuration
from slowcat_memory.cli.config_file import render_config
from slowcat_memory.config import KNOBS


def test_config_check_says_what_is_changed_and_by_what(sm, monkeypatch: pytest.MonkeyPatch) -> None:
    sm.config.write_text('preset = "small"\n[recall]\ndeadline_ms = 12\n[embedding]\nkind="none"\n')
    monkeypatch.setenv("SLOWCAT_RECALL__MEMORIES", "3")
    changed = {knob["knob"]: knob for knob in sm.json("config", "check")["changed"]}
    assert changed["recall.deadline_ms"] == {
        "knob": "recall.deadline_ms",
        "value": 12.0,
        "default": 10.0,
        "from": str(sm.config),
        "expert": False,
    }
    origins = {name: knob["from"] for name, knob in changed.items()}
    assert origins["recall.memories"] == "SLOWCAT_RECALL__MEMORIES"
    assert origins["store.durability"] == "preset small"
    assert origins["memory.path"] == "--path"
    assert "SLOWCAT_RECALL__MEMORIES" in sm.ok("config", "check")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[recall]\ndeadlin_ms = 3", "recall.deadlin_ms: no such key. Did you mean recall"),
        ("[memory]\ntime_zone = 'Nix/Da'", "memory.time_zone: there is no 'Nix/Da'"),
        ("[memory]\nuser_id = 'No Good'", "'No Good' cannot name a memory"),
        ("[memory]\nlanguage = 'klingon'", "memory.language: there is no 'klingon'"),
        ("[expert.index]\nstemmer = 'klingon'", "index.stemmer: no stemmer for 'klingon'"),
        ("[embedding]\nkind = 'endpoint'", "endpoint_model is empty"),
        (
            "[embedding]\nkind = 'none'\nendpoint_url = 'http://127.0.0.1:9/v1'",
            "embedding.endpoint_url does nothing while embedding.kind is 'none'",
        ),
        ("[retention]\nkeep_evidence = false", "does nothing while retention.raw_days is 0"),
    ],
)
def test_config_check_refuses_what_is_wrong(sm, text: str, reason: str) -> None:
    sm.config.write_text(text)
    assert reason in sm.fails("config", "check")


def test_config_show_is_toml_that_can_be_read_back(sm) -> None:
    shown = configuration.build(tomllib.loads(sm.ok("config", "show")))
    assert shown.embedding.kind == "none" and shown.folder == sm.store
    assert sm.json("config", "show")["embedding"]["kind"] == "none"


def uncommented(text: str) -> str:
    return re.sub(r"(?m)^#(\w+ = )", r"\1", text)


def test_render_config_shows_every_knob_with_its_default() -> None:
    values = tomllib.loads(uncommented(render_config()))
    assert configuration.build(values) == configuration.Config()
    shown = {
        f"{section}.{key}" if isinstance(table, dict) else section: value
        for section, table in values.items()
        for key, value in (table.items() if isinstance(table, dict) else [("", table)])
    }
    defaults = {target: default for target, _, default in configuration.options()}
    assert shown == json.loads(json.dumps({k.path: defaults[k.target] for k in KNOBS}))
