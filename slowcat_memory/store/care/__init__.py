"""Opening, checking, repairing, backing up and restoring a store."""
