"""Voice commands to the memory and reactions to its replies: how they are recognised and answered."""
