"""How a sealed index lies on disk: header, columns, ids, and the documents they describe."""
