"""What one conversation takes place in: all that its parts share, known once the memory is open."""

from collections.abc import Mapping

from msgspec import Struct

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.processor.aggregators import Neighbours
from slowcat_memory.processor.context_messages import Messages
from slowcat_memory.processor.guard import Harmless
from slowcat_memory.processor.locality import Locality
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.off_record import Record
from slowcat_memory.runtime.injection import Visible


class Setting(Struct, frozen=True, kw_only=True):
    """What a conversation takes place in.

    Attributes:
        engine: The memory.
        config: The processor's, which may differ from the engine's.
        audience: Whose memory is whose.
        speaker_names: Names by the recogniser's ids of speakers.
        record: Whether what is said is kept.
        locality: Where the LLM is.
        around: The aggregators and the LLM.
        messages: Which messages are new turns.
        visible: What the LLM can read in its context.
        harmless: Does what must not cost the conversation anything.
    """

    engine: MemoryEngine
    config: Config
    audience: Audience
    speaker_names: Mapping[str, str]
    record: Record
    locality: Locality
    around: Neighbours
    messages: Messages
    visible: Visible
    harmless: Harmless
