"""The gate between a job and the LLM: nothing muted, and nothing local-only to another machine."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from slowcat_memory.core.disclosure import is_derived_local
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import PromptRefusedError
from slowcat_memory.providers import LLM, Answer, Prompt, is_remote
from slowcat_memory.store import Store

T = TypeVar("T", bound=Struct)


class LLMBehind:
    """An LLM that passes prompts on to another one."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    @property
    def prompt_tokens(self) -> int:
        return self._llm.prompt_tokens

    @property
    def remote(self) -> bool:
        return is_remote(self._llm)


class PromptGate(LLMBehind):
    """An LLM that refuses prompts with muted memories, and, elsewhere, with local-only ones.

    The memories are looked up when a prompt is sent: one may have been marked since it was written.
    """

    def __init__(self, llm: LLM, store: Store) -> None:
        super().__init__(llm)
        self._store = store

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """See ``LLM.complete``.

        Raises:
            PromptRefusedError: It holds such a memory, or an LLM on another machine is not given
                the names of its memories.
        """
        self._check(prompt)
        return await self._llm.complete(prompt, into)

    def _check(self, prompt: Prompt) -> None:
        remote = self.remote
        if prompt.made_from is None and remote:
            raise PromptRefusedError(
                f"a prompt of {prompt.job} does not name the memories in it, and the LLM is remote",
                hint="Set made_from",
            )
        with self._store.snapshot() as snapshot:
            for scope, id in prompt.made_from or ():
                memory = snapshot.memory(scope, id)
                if memory and memory.muted:
                    raise PromptRefusedError(f"a prompt of {prompt.job} holds a muted memory")
                memory = snapshot.read(scope, id) if remote else None
                if memory and (memory.local_only or is_derived_local(memory, snapshot.memory)):
                    raise PromptRefusedError(f"a prompt of {prompt.job} holds a local-only memory")


def names_of(
    scope: str, turns: Iterable[int] = (), memories: Iterable[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return (scope, id) of what a prompt holds, for ``Prompt.made_from``.

    Args:
        turns: Log ids of turns.
        memories: Ids of memories; "" is skipped.
    """
    ids = (*map(chunk_id, turns), *memories)
    return tuple(dict.fromkeys((scope, id) for id in ids if id))
