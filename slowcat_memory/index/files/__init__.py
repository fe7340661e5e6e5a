"""The files of a sealed index: header, columns, ids, and the documents they describe."""
