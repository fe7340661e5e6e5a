"""Import and export: transcripts and facts as files.

``reading`` reads transcripts, ``import_`` writes their sessions to the log and can be interrupted
and repeated, ``formats.rows`` writes the log as a transcript.
"""
