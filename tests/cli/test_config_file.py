import json
import re
import tomllib

from slowcat_memory import config as configuration
from slowcat_memory.cli.config_file import expert_options, render_config, render_short
from slowcat_memory.config import KNOBS


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


def test_render_short_is_a_configuration_of_25_lines_or_so() -> None:
    assert len(render_short("/a").splitlines()) <= 30
    assert configuration.build(tomllib.loads(render_short("/a"))).memory.path == "/a"
    assert configuration.build(tomllib.loads(render_short())) == configuration.Config()


def test_expert_options_are_all_the_others_with_their_words() -> None:
    listed = {name: text for name, _, text in expert_options()}
    assert "fuse.dense" in listed and "recall.deadline_ms" not in listed
    assert [name for name, text in listed.items() if not text] == []
