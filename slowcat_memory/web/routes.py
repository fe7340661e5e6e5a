"""Which address is answered by what: the files of the page, its reads and its changes."""

from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from aiohttp import web

from slowcat_memory.web import verbs
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import body, reply
from slowcat_memory.web.safety import MOST_BYTES
from slowcat_memory.web.views import health, know, said

Read = Callable[[PageContext, Mapping[str, str]], dict[str, Any]]
Change = Callable[[PageContext, Mapping[str, Any]], dict[str, Any]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


def start(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what every view needs: whose memories there are, and the user's time zone."""
    with page.memory.snapshot() as snapshot:
        scopes = page.scopes(snapshot)
    config = page.memory.config
    return {
        "scopes": scopes,
        "scope": page.person,
        "everyone": page.everyone,
        "zone": config.memory.time_zone,
        "agent": config.memory.agent_name,
        "local": "Everything is shown here, local-only memories too: this page is on this machine.",
    }


READS: dict[str, Read] = {
    "start": start,
    "know/facts": know.facts,
    "know/blocks": know.blocks,
    "know/people": know.people,
    "know/person": know.person,
    "know/memory": know.memory,
    "said/conversations": said.conversations,
    "said/turns": said.turns,
    "said/search": said.search,
    "why/recalls": said.recalls,
    "why/turn": said.one,
    "when": said.as_of,
    "thinking/work": health.work,
    "thinking/rejected": health.rejected,
    "health": health.overview,
    "health/process": health.process,
    "health/speed": health.speed,
    "health/doctor": health.doctor,
}
CHANGES: dict[str, Change] = {
    "mark": verbs.mark,
    "correct": verbs.correct,
    "forget/preview": verbs.preview,
    "forget": verbs.forget,
    "undo": verbs.undo,
    "wrong": verbs.wrong,
    "think": verbs.think,
    "pause": verbs.pause,
    "retry": verbs.retry,
    "backup": verbs.back_up,
    "verify": verbs.verify,
}


def add_routes(app: web.Application, page: PageContext) -> None:
    """Add every address but those of keys and events.

    The page itself holds no memory; it takes the token out of its address.
    """
    app.router.add_get("/", _file((_static() / "index.html").read_bytes(), "text/html"))
    for name, read in READS.items():
        app.router.add_get(f"/api/{name}", _reading(page, read))
    for name, change in CHANGES.items():
        app.router.add_post(f"/api/{name}", _changing(page, change))
    for path, content in static_files().items():
        kind = TYPES[path[path.rindex(".") :]]
        app.router.add_get(f"/static/{path}", _file(content, kind))


def _reading(page: PageContext, read: Read) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        return reply(await page.run(read, page, request.query))

    return handler


def _changing(page: PageContext, change: Change) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        given = await body(request, MOST_BYTES)
        return reply(await page.run(change, page, given))

    return handler


def _file(content: bytes, kind: str) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(body=content, content_type=kind, charset="utf-8")

    return handler


def static_files() -> dict[str, bytes]:
    """Return the page's files by their path; they are read once, and no other file is served."""
    found: dict[str, bytes] = {}

    def read(folder: Traversable, path: str) -> None:
        for one in folder.iterdir():
            name = f"{path}{one.name}"
            if one.is_dir():
                read(one, f"{name}/")
            elif "." in one.name and one.name[one.name.rindex(".") :] in TYPES:
                found[name] = one.read_bytes()

    read(_static(), "")
    return found


def _static() -> Traversable:
    return files("slowcat_memory.web") / "static"
