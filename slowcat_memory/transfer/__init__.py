"""Import and export: transcripts and facts as files.

``import_file`` reads a file and writes it to the log, ``ingest`` one of its sessions; both can be
interrupted and repeated. ``export`` writes the log as a transcript.
"""

from slowcat_memory.transfer.export import export
from slowcat_memory.transfer.import_ import Imported, import_file, ingest
from slowcat_memory.transfer.transcript import Note, Transcript, TranscriptSession, Utterance

__all__ = [
    "Imported",
    "Note",
    "Transcript",
    "TranscriptSession",
    "Utterance",
    "export",
    "import_file",
    "ingest",
]
