"""A prompt, its reply type and a good answer."""

from msgspec import Struct

from slowcat_memory.providers import Prompt


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    note: str


GOOD = '{"note": "Max is a dog."}'


PROMPT = Prompt(job="notes", version=1, system="Note it.", user="Anna has a dog called Max.")
