"""Commands that move data: import, export, backup, restore, replay, reindex."""
