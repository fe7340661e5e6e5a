"""The knobs of config.toml: the few options meant for users, with their public names.

Each names the option it sets (``target``: section and field of ``Config``), whose type, range,
default and description it has. All other options can be set
under ``[expert]`` by their target's name, without support.
"""

from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from slowcat_memory.config.config import Config

# Section of config.toml: its first line.
SECTIONS = {
    "memory": "Where the memory is, and whose it is.",
    "people": "Several people who talk to one agent.",
    "session": "When a conversation ends.",
    "recall": "What a turn may cost, and how much is put before the LLM.",
    "embedding": "The model that turns text into vectors.",
    "idle_llm": "The OpenAI-compatible LLM for idle work. Without one, rules do what rules can.",
    "chat_llm": "The LLM that `slowcat-memory chat` talks to.",
    "idle": "When idle work may run, and how much of it.",
    "store": "How memories are kept on disk.",
    "fleet": "Many workers that share people's memories in a PostgreSQL database: docs/fleet.md.",
    "retention": "How long conversations are kept.",
    "commands": "Voice commands to the memory, such as \"forget that\".",
    "head": "What the LLM reads before a session's first turn.",
    "icebreakers": "What the agent may bring up by itself.",
    "summaries": "How conversations are summarised.",
    "facts": "What is kept of people, places and things.",
}  # fmt: skip

_PUBLIC = {
    "memory": "path user_id user_name agent_name time_zone language hot_cache_size",
    "people": "scopes household guest guest_hours",
    "session": "silence_s resume_grace_s",
    "recall": "deadline_ms memories token_budget memory_tokens show_time speakable unknown_below"
    " prefetch fusion",
    "embedding": "kind model endpoint_url endpoint_model query_prompt doc_prompt allow_remote",
    "idle_llm": "url model allow_remote context_tokens temperature total_s",
    "chat_llm": "url model allow_remote",
    "idle": "enabled grace_s from_hour to_hour tokens_per_hour on_battery",
    "store": "durability backups_keep allow_unsafe_fs",
    "fleet": "dsn tenant cache lease_s",
    "retention": "raw_days keep_evidence",
    "commands": "enabled undo_s",
    "head": "mode",
    "icebreakers": "quiet_hours min_absence_h most expire_days",
    "summaries": "domain",
    "facts": "types",
}
# Sections and knobs that the code names otherwise.
_SECTIONS = {"session": "sessions", "idle_llm": "thinking", "chat_llm": "llm"}
_TARGETS = {
    "recall.memories": "pack.memories",
    "recall.token_budget": "pack.memory_token_budget",
    "recall.memory_tokens": "pack.memory_tokens",
    "recall.show_time": "pack.now",
    "recall.speakable": "pack.speakable",
    "recall.prefetch": "prefetch.enabled",
    "recall.fusion": "fuse.method",
    "embedding.query_prompt": "embedding.endpoint_query_prompt",
    "embedding.doc_prompt": "embedding.endpoint_doc_prompt",
}
KNOBS = {
    path: _TARGETS.get(path, f"{_SECTIONS.get(section, section)}.{name}")
    for section, names in _PUBLIC.items()
    for name in names.split()
    for path in (f"{section}.{name}",)
}
"""By its place in config.toml, the option that a knob sets."""
PATHS = {target: path for path, target in KNOBS.items()}


def options(of: type[Struct] = Config, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """List every option of the package, public or not, except ``idle.jobs``."""
    hints = get_type_hints(of, include_extras=True)
    for option in msgspec.structs.fields(of):
        name = f"{path}.{option.name}".lstrip(".")
        if isinstance(option.type, type) and issubclass(option.type, Struct):
            yield from options(option.type, name)
        elif name != JOBS:
            default = option.default
            if default is msgspec.NODEFAULT:
                default = option.default_factory()
            yield name, hints[option.name], default


JOBS = "idle.jobs"


def limits(kind: Any) -> str:
    """Return an option's range or choices in words, "" if it has none; ``kind`` is its type."""
    info = msgspec.inspect.type_info(kind)
    if isinstance(info, msgspec.inspect.LiteralType):
        return "one of " + ", ".join(f'"{value}"' for value in info.values)
    return " to ".join(
        f"{bound:,.10g}"
        for name in ("ge", "gt", "le", "lt")
        if (bound := getattr(info, name, None)) is not None
    )
