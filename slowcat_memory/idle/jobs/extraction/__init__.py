"""Jobs that read turns: descriptions, facts, entities."""
