"""Functions offered to the conversation's LLM: schemas, arguments and answers."""
