"""The knobs of config.toml: the few options meant for users, with their public names.

Each names the option it sets (``target``: section and field of ``Config``), whose type, range and
default it has; its text gives the unit and the reason to turn it. All other options can be set
under ``[expert]`` by their target's name, without support.
"""

from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from slowcat_memory.config.config import Config


class Knob(Struct, frozen=True):
    """A public knob: its place in config.toml, the option it sets, and the text for users."""

    path: str
    target: str
    text: str


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
    "owner": "Which process opens the store, where several use it.",
    "fleet": "Many workers that share people's memories in a PostgreSQL database: docs/fleet.md.",
    "retention": "How long conversations are kept.",
    "commands": "Voice commands to the memory, such as \"forget that\".",
    "head": "What the LLM reads before a session's first turn.",
    "icebreakers": "What the agent may bring up by itself.",
    "summaries": "How conversations are summarised.",
    "facts": "What is kept of people, places and things.",
}  # fmt: skip

KNOBS = (
    Knob("preset", "preset",
         "Defaults for a kind of machine: small is a Raspberry Pi, quality a desktop with a fast GPU."),
    Knob("memory.path", "memory.path",
         "The folder of the store. It must be on a local disk."),
    Knob("memory.user_id", "memory.user_id",
         "The namespace of a conversation that names none: 1 to 64 of a-z, 0-9, _ and -."),
    Knob("memory.user_name", "memory.user_name",
         "The user's name in memories when STT does not give the speaker's."),
    Knob("memory.agent_name", "memory.agent_name",
         "The agent's name in memories."),
    Knob("memory.time_zone", "memory.time_zone",
         "IANA name such as \"Europe/Berlin\", for dates and for night hours; \"\" is this machine's."),
    Knob("memory.language", "memory.language",
         "The language of the conversations: \"english\" or \"german\" (\"en\", \"de\" and \"Deutsch\" work)."),
    Knob("memory.hot_cache_size", "memory.hot_cache_size",
         "Latest memories of a namespace that are kept in RAM, in memories. Less saves RAM."),
    Knob("people.scopes", "people.scopes",
         "\"one\": one memory for all speakers; \"each\": one for every speaker that STT recognises."),
    Knob("people.household", "people.household",
         "Name of a namespace that everybody but guests may also read; \"\" for none."),
    Knob("people.guest", "people.guest",
         "Namespace of speakers who are not recognised, with scopes = \"each\"."),
    Knob("people.guest_hours", "people.guest_hours",
         "Hours until a guest's words are erased."),
    Knob("session.silence_s", "sessions.silence_s",
         "Seconds of silence that end a session. Longer keeps a conversation with long pauses together."),
    Knob("session.resume_grace_s", "sessions.resume_grace_s",
         "Seconds in which a dropped connection may return to the same session."),
    Knob("recall.deadline_ms", "recall.deadline_ms",
         "Milliseconds that a turn waits for memories; then it takes what is ready. Raise on slow CPUs."),
    Knob("recall.memories", "pack.memories",
         "Memories put before the LLM each turn, at most. More helps strong LLMs and costs tokens."),
    Knob("recall.token_budget", "pack.memory_token_budget",
         "Tokens of memories put before the LLM each turn, at most."),
    Knob("recall.memory_tokens", "pack.memory_tokens",
         "Tokens of one memory, at most; a longer one is cut to what the question is about."),
    Knob("recall.show_time", "pack.now",
         "When the memory block states the current time: if the user asks for a time, always or never."),
    Knob("recall.speakable", "pack.speakable",
         "Write dates and numbers as words, for TTS that reads digits badly."),
    Knob("recall.unknown_below", "recall.unknown_below",
         "Probability below which the block says that nothing is remembered; 0 never says so."),
    Knob("recall.prefetch", "prefetch.enabled",
         "Recall on interim transcripts, while the user still speaks. Costs CPU, saves the wait."),
    Knob("recall.fusion", "fuse.method",
         "How words and vectors are combined: by their scores, or by reciprocal ranks, which finds less."),
    Knob("embedding.kind", "embedding.kind",
         "Where vectors come from: a local model, an OpenAI-compatible endpoint, or none (words only)."),
    Knob("embedding.model", "embedding.model",
         "sentence-transformers model; a multilingual one for languages other than English."),
    Knob("embedding.endpoint_url", "embedding.endpoint_url",
         "Base URL of the endpoint, such as \"http://127.0.0.1:11434/v1\"."),
    Knob("embedding.endpoint_model", "embedding.endpoint_model",
         "The endpoint's name for the model."),
    Knob("embedding.query_prompt", "embedding.endpoint_query_prompt",
         "Text that the endpoint's model wants before a query."),
    Knob("embedding.doc_prompt", "embedding.endpoint_doc_prompt",
         "Text that the endpoint's model wants before a document."),
    Knob("embedding.allow_remote", "embedding.allow_remote",
         "Allow an endpoint on another machine: what is said is sent there."),
    Knob("idle_llm.url", "thinking.url",
         "Base URL of the server; \"auto\" finds a loaded model on this machine; \"\" for none."),
    Knob("idle_llm.model", "thinking.model",
         "The model's name; \"\" for the first that the server offers."),
    Knob("idle_llm.allow_remote", "thinking.allow_remote",
         "Allow a server on another machine: memories that are not local-only are sent there."),
    Knob("idle_llm.context_tokens", "thinking.context_tokens",
         "Tokens of the model's context; 0 asks the server."),
    Knob("idle_llm.temperature", "thinking.temperature",
         "Sampling temperature; -1 leaves it to the server."),
    Knob("idle_llm.total_s", "thinking.total_s",
         "Seconds that one answer may take in all. Raise for slow CPUs."),
    Knob("chat_llm.url", "llm.url",
         "Base URL; \"\" looks for LM Studio, Ollama and llama.cpp on this machine."),
    Knob("chat_llm.model", "llm.model",
         "The model's name; \"\" for the first that the server offers."),
    Knob("chat_llm.allow_remote", "llm.allow_remote",
         "Allow a server on another machine: the conversation and its memories are sent there."),
    Knob("idle.enabled", "idle.enabled",
         "Whether idle work runs at all."),
    Knob("idle.grace_s", "idle.grace_s",
         "Seconds of silence before idle work begins."),
    Knob("idle.from_hour", "idle.from_hour",
         "Local hour from which idle work may run; equal to to_hour: at any time."),
    Knob("idle.to_hour", "idle.to_hour",
         "Local hour at which it must pause again."),
    Knob("idle.tokens_per_hour", "idle.tokens_per_hour",
         "Tokens that the LLM may use in an hour; 0 for no limit."),
    Knob("idle.on_battery", "idle.on_battery",
         "Whether LLM work runs on battery power."),
    Knob("store.durability", "store.durability",
         "full: on disk before it is acknowledged; relaxed: may lose the last second at a power cut."),
    Knob("store.backups_keep", "store.backups_keep",
         "Backups that are kept, the newest first."),
    Knob("store.allow_unsafe_fs", "store.allow_unsafe_fs",
         "Allow a network file system, where locks may not hold and a crash may lose data."),
    Knob("fleet.dsn", "fleet.dsn",
         "The database, such as \"postgresql://worker@db/memories\"; \"\" for no fleet."),
    Knob("fleet.tenant", "fleet.tenant",
         "Whose rows this worker reads and writes."),
    Knob("fleet.cache", "fleet.cache",
         "The folder of this worker's copies, on a local disk. Unsent turns wait there."),
    Knob("fleet.lease_s", "fleet.lease_s",
         "Seconds until another worker takes over from one that is no longer heard of."),
    Knob("retention.raw_days", "retention.raw_days",
         "Days after which turns and everything made of them are erased, except the turns of"
         " keep_evidence; 0 keeps them for ever."),
    Knob("retention.keep_evidence", "retention.keep_evidence",
         "Keep turns that a fact or block was drawn from, even when they are older; `doctor` counts them."),
    Knob("commands.enabled", "commands.enabled",
         "Recognise voice commands."),
    Knob("commands.undo_s", "commands.undo_s",
         "Seconds in which \"undo that\" brings back what was forgotten; then it is erased."),
    Knob("head.mode", "head.mode",
         "auto completes the LLM's system instruction by itself; off leaves it to `session_context()`."),
    Knob("icebreakers.quiet_hours", "icebreakers.quiet_hours",
         "Local hours without icebreakers, \"HH:MM-HH:MM\"; \"\" for none."),
    Knob("icebreakers.min_absence_h", "icebreakers.min_absence_h",
         "Hours of absence before the agent brings something up."),
    Knob("icebreakers.most", "icebreakers.most",
         "Icebreakers that may wait at once; 0 turns them off."),
    Knob("icebreakers.expire_days", "icebreakers.expire_days",
         "Days after which an unused icebreaker is dropped."),
    Knob("summaries.domain", "summaries.domain",
         "Kind of conversation, which sets the turns of one window: support 10, sales 20, interview 50, voice 5."),
    Knob("facts.types", "facts.types",
         "Types of entities that are extracted."),
)  # fmt: skip

BY_PATH = {knob.path: knob for knob in KNOBS}
BY_TARGET = {knob.target: knob for knob in KNOBS}


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


def value_of(config: Config, target: str) -> Any:
    value: Any = config
    for name in target.split("."):
        value = getattr(value, name)
    return value


def limits(kind: Any) -> str:
    """Return an option's range or choices in words, "" if it has none; ``kind`` is its type."""
    made = msgspec.inspect.type_info(kind)
    if isinstance(made, msgspec.inspect.LiteralType):
        return "one of " + ", ".join(f'"{value}"' for value in made.values)
    return " to ".join(
        f"{bound:,.10g}"
        for name in ("ge", "gt", "le", "lt")
        if (bound := getattr(made, name, None)) is not None
    )
