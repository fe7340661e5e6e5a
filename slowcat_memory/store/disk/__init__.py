"""The LMDB file and its folder: tables, keys, codec, locks."""
