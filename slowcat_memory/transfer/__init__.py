"""Import and export: transcripts and facts as files.

``read`` reads a transcript, ``ingest`` writes one of its sessions to the log, ``import_file`` does
both for a file and can be interrupted and repeated, ``export`` writes the log as a transcript.
"""

from slowcat_memory.transfer.export import export
from slowcat_memory.transfer.import_ import import_file, ingest
from slowcat_memory.transfer.reading import read
from slowcat_memory.transfer.transcript import Note, Transcript, TranscriptSession, Utterance

__all__ = [
    "Note",
    "Transcript",
    "TranscriptSession",
    "Utterance",
    "export",
    "import_file",
    "ingest",
    "read",
]
