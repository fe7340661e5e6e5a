"""The page: a local web page that shows and changes one memory.

Nothing here is imported by a bot. `docs/page.md` describes it, decision 55 says why it is so.
"""

from slowcat_memory.web.context import Finding, PageContext
from slowcat_memory.web.launch import open_browser, private_link
from slowcat_memory.web.page_server import PageServer

__all__ = ["Finding", "PageContext", "PageServer", "open_browser", "private_link"]
