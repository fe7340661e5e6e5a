"""The page: a local web page that shows and changes one memory."""
