"""Voice commands and reactions to replies: recognition and spoken answers."""
