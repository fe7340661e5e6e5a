"""The document child process, ``...worker.child FOLDER THREADS TOKENS TOKEN_KEY``.

Loads an export in fp32 and embeds the requests on standard input until it ends: the parent closed
it or died.
"""

import sys
from pathlib import Path

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding.local import LocalEmbedder
from slowcat_memory.providers.embedding.worker.process import (
    Fault,
    Request,
    Vectors,
    become_child,
    read_frame,
    write_frame,
)


def load(folder: str, threads: str, doc_max_tokens: str, token_key: str) -> LocalEmbedder:
    """Load an export.

    Raises:
        ProviderError: It is damaged, or another export has taken its place.
    """
    limits = {"threads": int(threads), "doc_max_tokens": int(doc_max_tokens)}
    embedder = LocalEmbedder.load(Path(folder), exact=True, **limits)
    if embedder.token_key != token_key:
        raise ProviderError(
            "the model's export has changed, and with it its token vectors", hint="Restart"
        )
    return embedder


def main() -> int:
    """Run as a program; return 0 when the parent closed the input."""
    replies = become_child()
    embedder: LocalEmbedder | None = None
    try:
        while isinstance(request := read_frame(sys.stdin.buffer), Request):
            try:
                embedder = embedder or load(*sys.argv[1:5])
                reply: Vectors | Fault = Vectors.of(embedder.encode_tokens(request.texts))
            except Exception as error:  # any error must reach the parent, without the texts
                failed = ProviderError(f"embedding failed ({type(error).__name__})")
                reply = Fault.of(error if isinstance(error, ProviderError) else failed, "")
            write_frame(replies, reply)
    except BrokenPipeError:
        pass  # the parent has exited
    return 0


if __name__ == "__main__":
    sys.exit(main())
