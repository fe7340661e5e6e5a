"""The page: a local web page that shows and changes one memory.

Nothing here is imported by a bot. `docs/page.md` describes it, decision 55 says why it is so.
"""

from slowcat_memory.web.context import PageContext
from slowcat_memory.web.page_server import PageServer
from slowcat_memory.web.safety import open_browser, private_link

__all__ = ["PageContext", "PageServer", "open_browser", "private_link"]
