"""Keys of earlier versions of config.toml: what they are called now, or why they are gone.

Keys that kept their option but changed their place need no line here: ``loader.py`` knows every
option by its own name.
"""

# Old key: the new one.
MOVED = {
    "index.language": "memory.language",
    "extract.language": "memory.language",
    **{f"{job}.enabled": f"jobs.{job}.enabled" for job in (
        "contextualize", "entities", "facts", "rerank", "corrections", "topics",
        "episodes", "profile", "blocks",
    )},
    "bring_up.enabled": "jobs.bring_up.enabled",
}  # fmt: skip

# Old key: why it is gone.
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
    "index.gram_view": "misheard names are found by their sound",
    "rank.agent": "its default had no effect",
    "tiers.dictionary_from": "cold blocks are compressed without a trained dictionary",
    "tiers.dictionary_bytes": "cold blocks are compressed without a trained dictionary",
    "extract.fill": "its default had no effect",
    "facts.recalled": "its default had no effect",
    "icebreakers.keep_rest": "its default had no effect",
    "prefix.warm_at_start": "the prompt is read ahead whenever the LLM's server is on this machine",
    "contextualize.rest_s": "use jobs.contextualize.every_s",
    "entities.rest_s": "use jobs.entities.every_s",
    "facts.rest_s": "use jobs.facts.every_s",
    "summaries.rest_s": "use every_s of the summary's job under [jobs]",
    "summaries.enabled": "use enabled of the summary's job under [jobs]",
}
