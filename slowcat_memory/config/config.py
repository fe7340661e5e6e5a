"""Every option of the package in one struct: a section for each ``Options`` class.

Each ``Options`` class is defined beside the code that it tunes. ``knobs.py`` lists the public ones
and their names; ``loader.py`` reads files and the environment.
"""

from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from slowcat_memory.core.blocks.block import BlocksOptions
from slowcat_memory.core.blocks.session_head import HeadOptions
from slowcat_memory.core.extraction.options import MergeOptions, TopicsOptions
from slowcat_memory.core.language import language_of
from slowcat_memory.core.proactive.policy import BringUpOptions, IcebreakerOptions
from slowcat_memory.core.query.recall_gate import GateOptions
from slowcat_memory.core.query.understand import AskOptions
from slowcat_memory.core.ranking.score import FuseOptions, RankOptions
from slowcat_memory.core.render.memory_block import ExtractOptions, PackOptions
from slowcat_memory.core.retention import HOT, RetentionOptions, TierOptions
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.calendar import zone_of
from slowcat_memory.errors import ConfigError
from slowcat_memory.idle.jobs.options import (
    ContextualizeOptions,
    EpisodesOptions,
    FactsOptions,
    SummariesOptions,
)
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.index import IndexOptions
from slowcat_memory.providers import EmbedderOptions, ThinkingOptions
from slowcat_memory.runtime.commands.executor import CommandOptions
from slowcat_memory.runtime.conversation.conversation import Audience, PeopleOptions
from slowcat_memory.runtime.conversation.session_tracker import SessionOptions
from slowcat_memory.runtime.injection import ContextOptions
from slowcat_memory.runtime.recall.query import PrefetchOptions, RecallOptions, RetrievalOptions
from slowcat_memory.store import StoreOptions


class MemoryOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the memory is, and whose it is.

    Attributes:
        path: The store's folder, on a local disk.
        user_id: The namespace of a conversation that names none: letters, digits, "_" and "-".
        user_name: What the user is called in memories when STT does not give a name.
        agent_name: What the agent is called in its own memories.
        time_zone: IANA name such as "Europe/Berlin", for dates and for night hours; "" for this machine's.
        language: Language of voice commands, dates, questions and all that the memory says:
            "english" or "german", also by code ("de") or own name ("Deutsch").
        hot_cache_size: How many of the latest memories are kept in memory, by namespace.
        embedding_cache_size: How many query vectors are kept.
        use_contextual: Off, the processor is a plain one: it opens no store and passes everything
            on, so that an application can switch the memory off without another pipeline.
    """

    path: str = "~/.slowcat"
    user_id: str = "user"
    user_name: str = "User"
    agent_name: str = "Assistant"
    time_zone: str = ""
    language: str = "english"
    hot_cache_size: Annotated[int, Meta(ge=1, le=100_000)] = HOT
    embedding_cache_size: Annotated[int, Meta(ge=0, le=1_000_000)] = 500
    use_contextual: bool = True


class LLMOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The OpenAI-compatible server that ``slowcat-memory chat`` talks to.

    Attributes:
        url: Base URL of the server, "" to look for LM Studio, Ollama and llama.cpp on this machine.
        model: The model's name, "" for the first that the server offers.
        allow_remote: Let memories leave this machine for ``url``.
    """

    url: str = ""
    model: str = ""
    allow_remote: bool = False


class FleetOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fleet: several workers that share the memories of many people in a PostgreSQL database.

    Attributes:
        dsn: The database, such as "postgresql://worker@db.example/memories"; "" for no fleet. The
            password is better in ~/.pgpass or in the environment.
        tenant: Whose rows this worker reads and writes.
        cache: The folder of this worker's copies of memories, on a local disk.
        lease_s: Seconds until another worker may take over from one that is no longer heard of.
    """

    dsn: str = ""
    tenant: str = "default"
    cache: str = "~/.slowcat-fleet"
    lease_s: Annotated[float, Meta(ge=1.0, le=3600.0)] = 30.0


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every option, by section."""

    memory: MemoryOptions = MemoryOptions()
    people: PeopleOptions = PeopleOptions()
    sessions: SessionOptions = SessionOptions()
    recall: RecallOptions = RecallOptions()
    prefetch: PrefetchOptions = PrefetchOptions()
    gate: GateOptions = GateOptions()
    ask: AskOptions = AskOptions()
    pack: PackOptions = PackOptions()
    context: ContextOptions = ContextOptions()
    extract: ExtractOptions = ExtractOptions()
    head: HeadOptions = HeadOptions()
    icebreakers: IcebreakerOptions = IcebreakerOptions()
    fuse: FuseOptions = FuseOptions()
    rank: RankOptions = RankOptions()
    index: IndexOptions = IndexOptions()
    embedding: EmbedderOptions = EmbedderOptions()
    store: StoreOptions = StoreOptions()
    tiers: TierOptions = TierOptions()
    retention: RetentionOptions = RetentionOptions()
    commands: CommandOptions = CommandOptions()
    llm: LLMOptions = LLMOptions()
    thinking: ThinkingOptions = ThinkingOptions()
    contextualize: ContextualizeOptions = ContextualizeOptions()
    facts: FactsOptions = FactsOptions()
    merge: MergeOptions = MergeOptions()
    summaries: SummariesOptions = SummariesOptions()
    topics: TopicsOptions = TopicsOptions()
    episodes: EpisodesOptions = EpisodesOptions()
    bring_up: BringUpOptions = BringUpOptions()
    blocks: BlocksOptions = BlocksOptions()
    idle: IdleOptions = IdleOptions()
    fleet: FleetOptions = FleetOptions()

    @property
    def folder(self) -> Path:
        return Path(self.memory.path).expanduser()


def time_zone(config: Config) -> tzinfo:
    """Return the user's time zone, this machine's when none is named.

    Raises:
        ConfigError: There is no such zone.
    """
    return zone_of(config.memory.time_zone)


def tokenizer(config: Config) -> Tokenizer:
    """Return the tokenizer of the configured language.

    Raises:
        ConfigError: There is no such language, or no such stemmer.
    """
    language = language_of(config.memory.language).name
    try:
        return Tokenizer(config.index.stemmer or language, language)
    except ValueError as error:
        raise ConfigError(f"index.stemmer: {error}") from error


def retrieval_options(config: Config) -> RetrievalOptions:
    """Return the part of a configuration that recall reads."""
    sections = {*RetrievalOptions.__struct_fields__} & {*Config.__struct_fields__}
    same: dict[str, Any] = {name: getattr(config, name) for name in sections}
    return RetrievalOptions(**same, language=config.memory.language)


def check_names(config: Config) -> None:
    """Check that the named scope, time zone and language exist.

    Raises:
        ConfigError: One of them does not.
    """
    Audience(config.people, config.memory.user_id)
    time_zone(config)
    tokenizer(config)
