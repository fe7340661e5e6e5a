"""config.toml to the options of each room.

A misspelt key is an error that names its path and the nearest right name. Order of precedence, low
to high: the defaults in the code, the preset, the file, the environment
(``SLOWCAT_RECALL__DEADLINE_MS=20`` sets ``[recall] deadline_ms``; a list has commas between its
items).
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec
from loguru import logger
from msgspec import Struct, field

from slowcat_memory.core.blocks.block import BlocksOptions
from slowcat_memory.core.blocks.episodes import EpisodesOptions
from slowcat_memory.core.facts.matching import MergeOptions
from slowcat_memory.core.proactive.open_threads import BringUpOptions
from slowcat_memory.core.proactive.policy import IcebreakerOptions
from slowcat_memory.core.query.recall_gate import GateOptions
from slowcat_memory.core.query.understand import AskOptions
from slowcat_memory.core.ranking.entity_hop import LinkOptions
from slowcat_memory.core.ranking.fusion import FuseOptions
from slowcat_memory.core.ranking.priors import RankOptions
from slowcat_memory.core.render.excerpt import ExtractOptions
from slowcat_memory.core.render.memory_block import PackOptions
from slowcat_memory.core.render.session_head import HeadOptions
from slowcat_memory.core.retention.retention import RetentionOptions
from slowcat_memory.core.retention.tiering import HOT, TierOptions
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.zones import zone_of
from slowcat_memory.errors import ConfigError
from slowcat_memory.idle.jobs.extraction.due import ContextualizeOptions
from slowcat_memory.idle.jobs.extraction.entities import EntityOptions
from slowcat_memory.idle.jobs.extraction.facts import FactsOptions
from slowcat_memory.idle.jobs.feedback.corrections import CorrectionsOptions
from slowcat_memory.idle.jobs.feedback.rerank import RerankOptions
from slowcat_memory.idle.jobs.reflection.profile import ProfileOptions
from slowcat_memory.idle.jobs.summaries.shared import SummariesOptions
from slowcat_memory.idle.jobs.summaries.topics import TopicsOptions
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.index import IndexOptions
from slowcat_memory.providers import EmbedderOptions, ThinkingOptions
from slowcat_memory.runtime.commands.types import CommandOptions
from slowcat_memory.runtime.conversation.audience import Audience, PeopleOptions
from slowcat_memory.runtime.conversation.session_tracker import SessionOptions
from slowcat_memory.runtime.recall.prefetch import PrefetchOptions
from slowcat_memory.runtime.recall.query import RecallOptions
from slowcat_memory.runtime.session.prefix import PrefixOptions
from slowcat_memory.store import StoreOptions

Preset = Literal["small", "default", "quality"]
PREFIX, SEPARATOR = "SLOWCAT_", "__"
FOREIGN = frozenset({"SLOWCAT_CACHE_DIR", "SLOWCAT_CONFIG"})  # read elsewhere

# Each overrides the defaults, and is overridden by the file.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "default": {},
    "small": {  # a Raspberry Pi with an SD card
        "memory": {"hot_cache_size": 100},
        "pack": {"memory_token_budget": 128, "memories": 4},
        "recall": {"deadline_ms": 30.0, "settle_ms": 15.0},
        "embedding": {"query_max_tokens": 24},
        "store": {"durability": "relaxed"},
    },
    "quality": {  # a desktop with a fast GPU for the LLM
        "pack": {"memory_token_budget": 800, "memories": 12},
        "recall": {"deadline_ms": 30.0, "floor": 0.05, "keep_share": 0.5},
        "embedding": {"query_max_tokens": 256},
        "index": {"candidates": 400},
    },
}


class MemoryOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the memory is, and whose it is.

    Attributes:
        path: The store's folder.
        user_id: The namespace of a conversation that names none: letters, digits, "_" and "-".
        user_name: What the user is called in memories when the recogniser does not say.
        agent_name: What the agent is called in its own memories.
        time_zone: IANA name for dates in the block, "" for this machine's.
        hot_cache_size: How many of the latest memories are kept in memory, by namespace.
        embedding_cache_size: How many query vectors are kept.
        mapped_mb: Megabytes of mapped files, code included, above which the pages of the store and
            of the indexes are given back to the system, which keeps them while it has room; 0
            never gives them back.
        mapped_after_s: Seconds without a recall until then; 0 after every recall: halves memory at
            a million memories, and makes recall slower by 2 ms there.
    """

    path: str = "~/.slowcat"
    user_id: str = "user"
    user_name: str = "User"
    agent_name: str = "Assistant"
    time_zone: str = ""
    hot_cache_size: int = HOT.size or 0
    embedding_cache_size: int = 500
    mapped_mb: int = 256
    mapped_after_s: float = 20.0


class LLMOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The OpenAI-compatible server that ``slowcat-memory chat`` talks to.

    Attributes:
        url: Its base URL, "" to look for LM Studio, Ollama and llama.cpp on this machine.
        model: The model's name, "" for the first that the server offers.
        allow_remote: Let memories leave this machine for ``url``.
    """

    url: str = ""
    model: str = ""
    allow_remote: bool = False


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every knob.

    Attributes:
        preset: Which set of defaults the rest starts from.
        memory: Where the memory is, and whose.
        people: Whose, where several people talk to one agent.
        sessions: When a session ends.
        recall: What a recall may cost, and what is good enough.
        prefetch: What is recalled while a person still speaks.
        gate: Which turns need no memory.
        ask: What is read out of a query.
        pack: How much goes before the LLM.
        extract: How a long memory is cut to what was asked for.
        head: What an agent is told before a session.
        icebreakers: When an agent may bring something up by itself.
        fuse: How views become one score.
        rank: The priors.
        links: How far one memory leads to another.
        index: How memories are indexed.
        embedding: Which model makes vectors.
        store: How memories are kept.
        tiers: How old texts are kept.
        retention: How long words are kept at all.
        commands: What people order the memory to do.
        prefix: When the LLM reads the prompt ahead.
        llm: The server for ``chat``.
        thinking: The LLM that thinks while nobody speaks.
        contextualize: How an LLM describes what was said.
        entities: How people and things are told apart.
        facts: How facts are drawn from what people say.
        merge: When two facts are one.
        rerank: Whether an LLM judges what was recalled.
        corrections: Whether what people say about a reply counts.
        summaries: How conversations are summed up.
        topics: How topics are found.
        episodes: Which moments are kept as episodes.
        bring_up: What an agent finds by itself to bring up.
        profile: The fields that are known of the user.
        blocks: What an agent has in mind about itself and the user.
        idle: When, and how much.
    """

    preset: Preset = "default"
    memory: MemoryOptions = field(default_factory=MemoryOptions)
    people: PeopleOptions = field(default_factory=PeopleOptions)
    sessions: SessionOptions = field(default_factory=SessionOptions)
    recall: RecallOptions = field(default_factory=RecallOptions)
    prefetch: PrefetchOptions = field(default_factory=PrefetchOptions)
    gate: GateOptions = field(default_factory=GateOptions)
    ask: AskOptions = field(default_factory=AskOptions)
    pack: PackOptions = field(default_factory=PackOptions)
    extract: ExtractOptions = field(default_factory=ExtractOptions)
    head: HeadOptions = field(default_factory=HeadOptions)
    icebreakers: IcebreakerOptions = field(default_factory=IcebreakerOptions)
    fuse: FuseOptions = field(default_factory=FuseOptions)
    rank: RankOptions = field(default_factory=RankOptions)
    links: LinkOptions = field(default_factory=LinkOptions)
    index: IndexOptions = field(default_factory=IndexOptions)
    embedding: EmbedderOptions = field(default_factory=EmbedderOptions)
    store: StoreOptions = field(default_factory=StoreOptions)
    tiers: TierOptions = field(default_factory=TierOptions)
    retention: RetentionOptions = field(default_factory=RetentionOptions)
    commands: CommandOptions = field(default_factory=CommandOptions)
    prefix: PrefixOptions = field(default_factory=PrefixOptions)
    llm: LLMOptions = field(default_factory=LLMOptions)
    thinking: ThinkingOptions = field(default_factory=ThinkingOptions)
    contextualize: ContextualizeOptions = field(default_factory=ContextualizeOptions)
    entities: EntityOptions = field(default_factory=EntityOptions)
    facts: FactsOptions = field(default_factory=FactsOptions)
    merge: MergeOptions = field(default_factory=MergeOptions)
    rerank: RerankOptions = field(default_factory=RerankOptions)
    corrections: CorrectionsOptions = field(default_factory=CorrectionsOptions)
    summaries: SummariesOptions = field(default_factory=SummariesOptions)
    topics: TopicsOptions = field(default_factory=TopicsOptions)
    episodes: EpisodesOptions = field(default_factory=EpisodesOptions)
    bring_up: BringUpOptions = field(default_factory=BringUpOptions)
    profile: ProfileOptions = field(default_factory=ProfileOptions)
    blocks: BlocksOptions = field(default_factory=BlocksOptions)
    idle: IdleOptions = field(default_factory=IdleOptions)

    @property
    def folder(self) -> Path:
        """The store's folder, with ``~`` resolved."""
        return Path(self.memory.path).expanduser()


def load(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Read the configuration.

    Args:
        path: The file; None for the one that SLOWCAT_CONFIG names, else none.
        environ: The environment; None for this process's.

    Returns:
        The configuration.

    Raises:
        ConfigError: A file that is missing or no TOML, an unknown key, or a wrong value.
    """
    environ = os.environ if environ is None else environ
    if path is None and environ.get("SLOWCAT_CONFIG"):
        path = Path(environ["SLOWCAT_CONFIG"]).expanduser()
    return build(_read(path) if path else {}, environ)


def build(values: dict[str, Any], environ: Mapping[str, str] | None = None) -> Config:
    """Make a configuration from plain values.

    Args:
        values: As read from TOML: a table by section.
        environ: Overrides; None for none.

    Returns:
        The configuration.

    Raises:
        ConfigError: An unknown key or a wrong value, by its path.
    """
    _refuse_unknown(values, Config, "")
    overrides = _overrides(environ or {})
    preset = overrides.get("preset", values.get("preset", "default"))
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ConfigError(
            f"preset: there is none called {preset!r}", hint=f"Take one of {', '.join(PRESETS)}"
        )
    merged = _merge(_merge(PRESETS[preset], values), overrides)
    try:
        return msgspec.convert(merged, Config, strict=False)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        raise ConfigError(f"{where.strip('.`') or 'config'}: {what}") from error


def time_zone(config: Config) -> tzinfo:
    """Find the user's time zone.

    Args:
        config: The configuration.

    Returns:
        The zone, this machine's when none is named.

    Raises:
        ConfigError: There is no such zone.
    """
    return zone_of(config.memory.time_zone)


def tokenizer(config: Config) -> Tokenizer:
    """Make the tokenizer of the configured language.

    Args:
        config: The configuration.

    Returns:
        The tokenizer.

    Raises:
        ConfigError: There is no stemmer for the language.
    """
    try:
        return Tokenizer(config.index.language)
    except ValueError as error:
        raise ConfigError(f"index.language: {error}") from error


def check_names(config: Config) -> None:
    """Refuse a configuration that names what does not exist.

    Args:
        config: The configuration.

    Raises:
        ConfigError: No such scope, time zone, or language.
    """
    Audience(config.people, config.memory.user_id)
    time_zone(config)
    tokenizer(config)


def knobs(options: type[Struct] = Config, path: str = "") -> Iterator[tuple[str, Any]]:
    """List every knob.

    Args:
        options: Where to begin.
        path: Its own path.

    Yields:
        Dotted path and default.
    """
    for knob in msgspec.structs.fields(options):
        name = f"{path}.{knob.name}".lstrip(".")
        if isinstance(knob.type, type) and issubclass(knob.type, Struct):
            yield from knobs(knob.type, name)
        elif knob.default is not msgspec.NODEFAULT:  # a table by name, such as ``idle.jobs``
            yield name, knob.default


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}",
            hint="`slowcat-memory init` writes one",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def _refuse_unknown(values: dict[str, Any], options: type[Struct], path: str) -> None:
    hints = get_type_hints(options)
    for key, value in values.items():
        where = f"{path}.{key}".lstrip(".")
        if key not in hints:
            raise ConfigError(f"{where}: there is no such key", hint=_nearest(where))
        if isinstance(value, dict) and isinstance(hints[key], type(Struct)):
            _refuse_unknown(value, hints[key], where)


def _nearest(where: str) -> str:
    every = [name for name, _ in knobs()] + [name for name in get_type_hints(Config)]
    same_name = [name for name in every if name.rsplit(".")[-1] == where.rsplit(".")[-1]]
    near = same_name or difflib.get_close_matches(where, every, n=1, cutoff=0.5)
    return f"Did you mean {near[0]}?" if near else "config.toml shows every knob"


def _overrides(environ: Mapping[str, str]) -> dict[str, Any]:
    known = dict(knobs())
    values: dict[str, Any] = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in FOREIGN:
            continue
        path = name.removeprefix(PREFIX).lower().replace(SEPARATOR, ".")
        if path not in known:
            logger.warning(f"{name} sets no knob and is ignored. {_nearest(path)}")
            continue
        section, _, key = path.rpartition(".")
        value = _items(text) if isinstance(known[path], tuple) else text
        (values.setdefault(section, {}) if section else values)[key] = value
    return values


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(low)
    for key, value in high.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merge(merged[key], value) if both else value
    return merged
