"""TRANSCRIPTS IN, TRANSCRIPTS OUT: conversations that took place elsewhere, and copies of ours.

Useful for: reading a transcript (``read``), putting one of its sessions into the log (``ingest``),
a whole file that may be interrupted and given again (``import_file``), writing the log as a
transcript (``export``), and recalling for a turn again, as of then (``replay.turn``).
Not useful for: a conversation that goes on now; that is ``runtime/``.
"""

from slowcat_memory.transfer.export import export, export_summaries
from slowcat_memory.transfer.formats import read
from slowcat_memory.transfer.import_ import Imported, Step, import_file
from slowcat_memory.transfer.ingest import ingest
from slowcat_memory.transfer.transcript import Note, Transcript, TranscriptSession, Utterance

__all__ = [
    "Imported",
    "Note",
    "Step",
    "Transcript",
    "TranscriptSession",
    "Utterance",
    "export",
    "export_summaries",
    "import_file",
    "ingest",
    "read",
]
