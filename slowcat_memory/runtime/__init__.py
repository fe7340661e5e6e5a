"""The live path: logs a conversation, recalls for each turn, and executes voice commands."""
