"""Opens a model on this machine: finds its export, or says what is missing."""

from pathlib import Path

from slowcat_memory.errors import ModelNotFoundError, ProviderError
from slowcat_memory.providers.embedding import export_format, model_files
from slowcat_memory.providers.embedding.base import EmbedderOptions, EmbedderReport
from slowcat_memory.providers.embedding.export_format import Meta
from slowcat_memory.providers.embedding.model_files import ModelSource
from slowcat_memory.providers.embedding.onnx import OnnxEmbedder
from slowcat_memory.providers.embedding.worker.handle import SentenceEmbedder


def find_export(options: EmbedderOptions, source: ModelSource | None) -> tuple[Path, Meta] | None:
    """Find the export that belongs to a model as it is now.

    Args:
        options: Where the cache is, and the model's name.
        source: Where the model is; None when it is gone, and any export of it will do.

    Returns:
        Folder and ``Meta``; None when there is no export, or the weights have changed since.
    """
    cache = export_format.cache_folder(options.cache_dir)
    found = export_format.exports_of(cache, export_format.short_name(options.model))
    if source is None or source.where is None or not found:
        return found[0] if found else None
    stamp = export_format.weights_stamp(source.where)
    for folder, meta in found:
        if meta.stamp == stamp:
            return folder, meta
    digest = export_format.weights_hash(
        source.where
    )  # the same weights in another place, or new ones
    return next(((f, m) for f, m in found if f.name.endswith(f"-{digest}")), None)


def open_local(options: EmbedderOptions) -> tuple[OnnxEmbedder | None, EmbedderReport]:
    """Open the query embedder of a local model.

    Returns:
        The embedder, or None; and what became of it.
    """
    source, missing = None, None
    try:
        source = model_files.resolve(options.model)
    except ModelNotFoundError as error:
        missing = error
    found = find_export(options, source)
    if found is None:
        if source is None:
            assert missing
            return None, EmbedderReport(state="missing", source=missing.message, hint=missing.hint)
        return None, _needs_export(source.describe())
    folder, meta = found
    described = source.describe() if source and source.where else f"{meta.name} from {folder}"
    try:
        embedder = OnnxEmbedder.load(
            folder,
            threads=options.threads,
            query_max_tokens=options.query_max_tokens,
            doc_max_tokens=options.doc_max_tokens,
        )
    except ProviderError as error:
        return None, _needs_export(f"{described}; {error.message}")
    report = EmbedderReport(state="ready", source=described, key=meta.key, dim=meta.dim)
    return embedder, report


def open_local_documents(
    options: EmbedderOptions,
) -> tuple[SentenceEmbedder | None, EmbedderReport]:
    """Open the document embedder of a local model; its child starts with the first text.

    Returns:
        The embedder, or None when the model is not here; and what became of it.
    """
    try:
        source = model_files.resolve(options.model)
    except ModelNotFoundError as error:
        return None, EmbedderReport(state="missing", source=error.message, hint=error.hint)
    found = find_export(options, source)
    if found is None:
        return SentenceEmbedder(options), EmbedderReport(state="ready", source=source.describe())
    folder, meta = found
    report = EmbedderReport(state="ready", source=source.describe(), key=meta.key, dim=meta.dim)
    embedder = SentenceEmbedder(
        options,
        key=meta.key,
        dim=meta.dim,
        token_key=meta.token_key,
        token_dim=meta.token_dim,
        export=str(folder),
    )
    return embedder, report


def _needs_export(described: str) -> EmbedderReport:
    return EmbedderReport(
        state="needs export",
        source=described,
        hint="It is exported once, in the background; until then search is lexical",
    )
