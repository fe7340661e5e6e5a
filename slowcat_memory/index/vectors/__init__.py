"""Vector search over sealed and new vectors."""
