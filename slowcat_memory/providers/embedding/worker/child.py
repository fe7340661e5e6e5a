"""The document child process, ``...worker.child MODEL THREADS TOKENS EXPORT``.

Loads the model once and embeds the requests on standard input until it ends: the parent closed it
or died. EXPORT is the folder of the model's export, with the projection of token vectors; "" for
none.
"""

import sys
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from slowcat_memory.providers.embedding import chunking, export_format, token_vectors
from slowcat_memory.providers.embedding.base import Embedded
from slowcat_memory.providers.embedding.token_vectors import TokenSpace
from slowcat_memory.providers.embedding.worker.process import (
    Fault,
    Hello,
    Request,
    Vectors,
    become_child,
    read_frame,
    write_frame,
)

STATES_TOGETHER = 64  # pieces whose hidden states are in memory at once: 25 MB at 256 tokens
PAD_TOGETHER = 4  # texts of one forward pass: on a CPU, padding costs more than batches gain


def load(
    model_name: str, threads: int, doc_max_tokens: int, export: str = ""
) -> tuple[Hello, "Encode"]:
    """Load the model (imports torch); return the greeting and the embedding function.

    Args:
        doc_max_tokens: Tokens of a piece of a document; the model's own limit wins when lower.
        export: Folder of the model's export, "" for no token vectors.

    Raises:
        ProviderError: It cannot be used here.
    """
    from slowcat_memory.providers.embedding.worker import model as sentence_model

    folder = sentence_model.fetch(model_name)
    model: Any = sentence_model.load(folder, threads)
    limit = min(doc_max_tokens, int(model.max_seq_length or doc_max_tokens))
    model.max_seq_length = limit
    tokenizer = sentence_model.tokenizer_of(model)
    _, prompt = sentence_model.prompts_of(model)

    meta = export_format.read_meta(Path(export)) if export else None
    space = token_vectors.load(Path(export), meta) if meta else None
    lead = token_vectors.lead_of(tokenizer, prompt)

    def encode(texts: list[str], with_tokens: bool = False) -> Embedded:
        plan = chunking.plan(texts, tokenizer, prompt, limit)
        vectors: list[np.ndarray] = []
        pieces: list[np.ndarray] = []
        for start in range(0, len(plan.pieces), STATES_TOGETHER):
            rows = model.encode(
                plan.pieces[start : start + STATES_TOGETHER],
                prompt=prompt,
                batch_size=PAD_TOGETHER,
                output_value=None if with_tokens else "sentence_embedding",
                show_progress_bar=False,
            )
            vectors += (
                [row["sentence_embedding"].numpy() for row in rows] if with_tokens else [*rows]
            )
            if with_tokens and space:
                pieces += [_tokens(row, space, lead) for row in rows]
        every = chunking.gather(plan, chunking.unit(np.stack(vectors)))
        return Embedded(every, chunking.join(plan, pieces, limit) if pieces else [])

    name = export_format.short_name(model_name)
    dim = encode([""]).vectors.shape[1]
    key = export_format.space_key(name, export_format.weights_hash(folder), dim)
    return Hello(key, dim, space.key if space else ""), encode


def _tokens(row: dict[str, Any], space: TokenSpace, lead: int) -> np.ndarray:
    """Return the projected vectors of the counting tokens of a sentence-transformers row."""
    read = row["attention_mask"].bool()
    kept = space.kept(row["input_ids"][read].numpy(), lead)
    return space.project(row["token_embeddings"][read].numpy()[kept])


class Encode(Protocol):
    """Embeds texts, and their tokens on request."""

    def __call__(self, texts: list[str], with_tokens: bool = False) -> Embedded: ...


def serve(requests: BinaryIO, replies: BinaryIO, encode: Encode) -> None:
    while isinstance(request := read_frame(requests), Request):
        try:
            made = encode(request.texts, request.tokens)
            reply: Vectors | Fault = Vectors.of(made.vectors, made.tokens)
        except Exception as error:  # any error must reach the parent
            reply = Fault("ProviderError", f"embedding failed ({type(error).__name__})")
        write_frame(replies, reply)


def main() -> int:
    """Run as a program; return 0 when the parent closed the input, 1 for an unusable model."""
    replies = become_child()
    try:
        try:
            hello, encode = load(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
        except Exception as error:  # whatever the libraries raise must reach the parent
            write_frame(replies, Fault.of(error, "loading the model"))
            return 1
        write_frame(replies, hello)
        serve(sys.stdin.buffer, replies, encode)
    except BrokenPipeError:
        pass  # the parent has exited
    return 0


if __name__ == "__main__":
    sys.exit(main())
