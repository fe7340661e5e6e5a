"""Keys of earlier versions of config.toml: their new names, or why they were removed.

Keys that only changed their place need no line here: ``loader.py`` knows every option by its own
name.
"""

_JOBS = ("contextualize", "entities", "facts", "rerank", "corrections", "topics", "episodes",
         "bring_up", "profile", "blocks")  # fmt: skip
_SUMMARIES = ("session_summary", "window_summary", "meta_summary", "rollups")
_RESTED = ("contextualize", "entities", "facts")

# Old key: the new ones.
MOVED: dict[str, tuple[str, ...]] = {
    **{f"{job}.enabled": (f"jobs.{job}.enabled",) for job in _JOBS},
    **{f"{job}.rest_s": (f"jobs.{job}.every_s",) for job in _RESTED},
    "summaries.enabled": tuple(f"jobs.{job}.enabled" for job in _SUMMARIES),
    "summaries.rest_s": tuple(f"jobs.{job}.every_s" for job in _SUMMARIES),
    "llm.url": ("chat_llm.url",),
    "llm.model": ("chat_llm.model",),
    "llm.allow_remote": ("chat_llm.allow_remote",),
    "index.language": ("memory.language",),
}

# Old key: why it was removed.
REMOVED = {
    "links.hop": "entity links brought nothing measurable to ranking",
    "links.seeds": "entity links brought nothing measurable to ranking",
    "links.most": "entity links brought nothing measurable to ranking",
    "tune.enabled": "weights are no longer learned; judged queries and corrections still count",
    "tune.again": "weights are no longer learned",
    "tune.queries": "weights are no longer learned",
    "tune.enough": "weights are no longer learned",
    "tune.believed": "weights are no longer learned",
    "fuse.learned": "weights are no longer learned",
    "fuse.method": "scores are fused; reciprocal ranks were worse by 1 to 6 points",
    "fuse.rrf_k": "scores are fused; reciprocal ranks were worse by 1 to 6 points",
    "fuse.grams": "misheard names are found by their sound",
    "index.compiled_from": "a library that comes with the package scores at every size",
    "index.gram_view": "misheard names are found by their sound",
    "rank.agent": "its default had no effect",
    "tiers.dictionary_from": "cold blocks are compressed without a trained dictionary",
    "tiers.dictionary_bytes": "cold blocks are compressed without a trained dictionary",
    "extract.language": "set memory.language",
    "extract.fill": "its default had no effect",
    "facts.recalled": "its default had no effect",
    "icebreakers.keep_rest": "its default had no effect",
    "prefix.warm_at_start": "the prompt is read ahead whenever the LLM's server is on this machine",
}
