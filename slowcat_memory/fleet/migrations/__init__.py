"""The database's schema, one file a version; each is run once, in a transaction with its number."""
