"""Voice commands to the memory: recognise one, find what it refers to, word the reply."""
