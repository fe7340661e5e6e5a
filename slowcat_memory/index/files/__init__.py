"""The files of a sealed index: columns, ids, documents, keys."""
