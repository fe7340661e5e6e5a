"""Names under which models send the fields of a reply, besides those that they were asked for.

A reply's struct has a table ``ALIASES``: by field, such names, the likeliest first. They are compared
without case, spaces and underscores. A name may mean only one field of its struct.
"""

Aliases = dict[str, tuple[str, ...]]

TURN = ("turn_id", "turn_number", "turn_no", "id", "number", "index", "line")
QUOTE = ("evidence", "quotation", "citation", "words", "source_text", "original")
CONFIDENCE = ("certainty", "confidence_level", "level")
