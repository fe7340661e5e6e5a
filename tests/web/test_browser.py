"""The page in a real Chromium: `make test-page`."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.index.generation import Build
from slowcat_memory.records import (
    LedgerEntry,
    Memory,
    Offer,
    Run,
    SessionEdge,
    Statement,
    Turn,
    WriteBatch,
)
from slowcat_memory.runtime.namespaces import live_index
from slowcat_memory.store import Store
from slowcat_memory.store.disk.folder import index_folder
from slowcat_memory.web import verbs
from tests.support.page_memory import ANNA, MONDAY, RULE, Running, page_of
from tests.support.said import fact, memory, memory_at, turn_at
from tests.support.sessions import session
from tests.support.stores import configured

T = TypeVar("T")

TALK = 20  # turns of a conversation
TOGETHER = 5000  # events in a transaction
DERIVED = 0.08  # share of memories that are not turns
RECORDED = 250  # recalls and steps of idle work, at most

PLACES = ("York", "Derby", "Leeds", "Bonn", "Graz", "Porto", "Turin", "Ghent")
THINGS = ("cello", "garden", "train", "soup", "letter", "lake", "lamp", "bicycle", "concert")


def page_store(path: Path, size: int) -> Config:
    """Make a memory of ``size`` memories in a folder."""
    config, derived = configured(path), int(size * DERIVED)
    if size:
        with Store.open(path) as store:
            for events in _batched(_events(size - derived), TOGETHER):
                store.append_all(list(events))[-1].wait(None)
            for memories in _batched(_memories(derived), TOGETHER):
                store.apply("facts", WriteBatch(memories=memories)).wait(None)
            _record(store, min(RECORDED, size))
            _seal(store, config)
    return config


def _batched(every: Iterator[T], n: int) -> Iterator[tuple[T, ...]]:
    while some := tuple(islice(every, n)):
        yield some


def _events(turns: int) -> Iterator[Turn | SessionEdge]:
    for talk in range(0, turns, TALK):
        words = [
            f"On day {n // 500} I saw a {THINGS[n // 3 % len(THINGS)]} number {n} in {PLACES[n % len(PLACES)]}."
            for n in range(talk, min(talk + TALK, turns))
        ]  # fmt: skip
        at = MONDAY + timedelta(hours=talk // TALK)
        pairs = [tuple(words[n : n + 2]) for n in range(0, len(words), 2)]
        yield from session(f"talk-{talk // TALK}", pairs, at, step_s=20, scope=ANNA)


def _memories(count: int) -> Iterator[Memory]:
    people = max(1, count // 40)
    for n in range(count):
        at, name = MONDAY + timedelta(hours=n % 4000), f"Person {n % people}"
        given = {"valid_from": at, "recorded_at": at, "made": RULE, "scope": ANNA}
        of_fact = {"id": f"fact/{n}", "sources": (n,), "subject": name}
        place, thing = PLACES[n % len(PLACES)], THINGS[n % len(THINGS)]
        if n < people:
            facets = {"name": name, "type": "person"}
            yield memory("entity/person", name, id=f"entity/{n}", facets=facets, **given)
        elif n % 4 == 0:
            own = {"subject_id": f"entity/{n % people}", "predicate": "lives_in", "object": place}
            text = f"{name} lives in {place}"
            yield fact(text, quote=f"{text}.", **given, **of_fact, **own)
        else:
            over = at + timedelta(days=3) if n % 5 == 0 else None
            quote = f"{name} likes the {thing} in {place}, as of {n}."
            end = {"valid_to": over, "retired_at": over, "quote": quote}
            yield fact(quote, "preference", **given, **of_fact, **end)


def _record(store: Store, count: int) -> None:
    """Write recalls and steps of idle work as a bot's memory has them."""
    with store.snapshot() as snapshot:
        turns = [turn for turn in snapshot.turns(ANNA, upto=count * 3) if turn.role == "user"]
    for n, turn in enumerate(turns[:count]):
        timings = {"parse": 0.2, "lexical": 0.5 + n % 7 / 10, "embed": 1.2, "wait": 2.0 + n % 5}
        entry = LedgerEntry(
            turn=turn.id, scope=ANNA, session=turn.session, at=turn.at, stage="full", tokens=40,
            offers=(Offer(f"chunk/{max(2, turn.id - 2)}", 0.6, {"turn": 0.8}, 0.7),),
            timings=timings, candidates=50,
        )  # fmt: skip
        store.write_ledger(entry)
    for n in range(count):
        run = Run(
            task=f"facts/{ANNA}/{n}", job="facts", at=MONDAY + timedelta(hours=n), ms=100.0 + n,
            outcome="dead" if n % 9 == 0 else "done", tokens_in=500, tokens_out=60, made=n % 3,
        )  # fmt: skip
        store.apply("facts", WriteBatch(run=run))
    store.flush(None)


def _seal(store: Store, config: Config) -> None:
    """Build the index of words, so that a memory of any size opens at once."""
    read = {"zone": config.memory.time_zone, "language": config.memory.language}
    place = {"store": str(store.path), "scope": ANNA, "space": live_index.Space()}
    order = live_index.SealOrder(**place, **read, options=config.index)
    store.publish(live_index.seal(Build(), index_folder(store.path, ANNA), order)).wait(None)


pytestmark = pytest.mark.browser

VIEWS = ("know", "said", "why", "when", "thinking", "health")
SIZES = (0, 40, 100_000)
NARROW, WIDE = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
GRAVE = ("serious", "critical")
PICTURES = Path(__file__).parents[2] / "docs" / "images"
MOST_PICTURE = 150_000


@pytest.fixture(scope="module", params=SIZES)
def sized(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    config = page_store(tmp_path_factory.mktemp("sized") / "memory", request.param)
    with page_of(config, furnished=False) as running:
        yield running


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A memory with made-up content that no test changes for good."""
    with page_of(configured(tmp_path_factory.mktemp("lived") / "memory")) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(verbs, "WINDOW_S", 600.0)  # however slow this is
    with page_of(configured(tmp_path / "memory")) as running:
        yield running


def apart(work: Callable[[], Any]) -> Any:
    """Do something off this thread, on which Playwright keeps an event loop that does not turn."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result(60)


def grave(tab: Any, axe: str) -> list[str]:
    """Return what axe-core finds serious or critical."""
    tab.evaluate(axe)
    found = tab.evaluate("axe.run()")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in GRAVE
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_at_every_size_narrow_and_wide(sized, visit, axe, view):
    seen = visit(sized)
    for window in (WIDE, NARROW):
        seen.tab.set_viewport_size(window)
        seen.view(view)
        assert seen.tab.locator(".error").count() == 0
        assert seen.width() <= window["width"]
        assert grave(seen.tab, axe) == []
    assert seen.faults == []


def test_the_page_speaks_the_language_of_the_memory(tmp_path: Path, visit: Any, axe: str) -> None:
    config = configured(tmp_path / "memory")
    config = replace(config, memory=replace(config.memory, language="german"))
    with page_of(config) as running:
        seen = visit(running)
        assert seen.tab.locator("html").get_attribute("lang") == "de"
        seen.tab.get_by_role("heading", name="Was weißt du über mich?").wait_for()
        seen.tab.get_by_text("gesagt von Anna · seit 2. März 2026").first.wait_for()
        seen.view("when")
        picture = seen.tab.get_by_role("img", name="Woche für Woche, vom 2. März 2026 bis")
        assert picture.locator(".wide rect").count() == 3  # three talks, each in a week of its own
        assert grave(seen.tab, axe) == [] and seen.faults == []


def test_more_rows_come_when_asked_for(tmp_path: Path, visit: Any) -> None:
    with page_of(page_store(tmp_path / "memory", 4000), furnished=False) as running:
        seen = visit(running)
        facts = seen.tab.get_by_role("region", name="Facts and notes")
        assert facts.locator(".card").count() == 50
        facts.get_by_role("button", name="Show more").click()
        facts.locator(".card").nth(99).wait_for()
        assert facts.locator(".card").count() == 100


@pytest.mark.parametrize("view", VIEWS)
def test_dark_is_as_readable(lived_in: Running, visit: Any, axe: str, view: str) -> None:
    seen = visit(lived_in, color_scheme="dark")
    seen.view(view)
    colour = seen.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour != "rgb(251, 250, 247)"
    assert grave(seen.tab, axe) == []


def test_what_is_opened_is_as_readable(lived_in: Running, visit: Any, axe: str) -> None:
    seen = visit(lived_in)
    seen.tab.get_by_role("button", name="Clara person").click()
    seen.tab.get_by_role("button", name="Proof: Anna plays").click()
    more(seen.tab, "Clara has").get_by_role("button", name="Correct").click()
    seen.tab.locator(".proof").wait_for()
    seen.tab.locator(".person").wait_for()
    assert grave(seen.tab, axe) == []
    seen.view("said?session=anna-1")
    seen.tab.get_by_label("Search by words").fill("cello")
    seen.tab.get_by_role("button", name="Search").click()
    seen.tab.get_by_role("heading", name="Found for “cello”").wait_for()
    seen.settled()
    assert grave(seen.tab, axe) == []
    assert seen.faults == []


def test_axe_finds_what_is_wrong(lived_in: Running, visit: Any, axe: str) -> None:
    """The negative control of all tests with axe-core."""
    seen = visit(lived_in)
    seen.tab.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any("button-name" in one for one in grave(seen.tab, axe))


def test_a_fault_in_the_browser_is_seen(lived_in: Running, visit: Any) -> None:
    """The negative control of `faults`: the policy refuses a picture from elsewhere."""
    seen = visit(lived_in)
    seen.tab.evaluate(
        "new Promise(done => { const i = new Image(); i.onerror = done; i.src = 'data:image/png;base64,x'; })"
    )
    assert seen.faults


# ------------------------------------------------------------------- attacks

ATTACKS = (
    "<img src=x onerror=window.hacked=1>",
    "<script>window.hacked=1</script>",
    '"><svg onload=window.hacked=1>',
    "javascript:window.hacked=1",
    "${window.hacked=1}",
)


def attack(memory: MemoryEngine) -> None:
    """Store every attack in every place of a memory that a view shows."""
    kinds = ("fact/other", "fact/quarantined", "entity/person", "block/human", "note")
    at = MONDAY + timedelta(days=40)
    for n, text in enumerate(ATTACKS):
        own = {"scope": ANNA, "speaker": text}
        said = memory.append(turn_at(f"cello {text}", at, session=f"attack-{n}", **own))
        said.wait(30)
        own |= {"facets": {"name": text, "type": "person", "why": "order"}, "made": RULE}
        own |= {"sources": (said.event.id,), "statement": Statement(subject=text, quote=text)}
        ids = {f"{kind.partition('/')[0]}/attack-{n}-{kind[-4:]}": kind for kind in kinds}
        made = (memory_at(id_, text, at, kind=kind, **own) for id_, kind in ids.items())
        memory.apply("facts", WriteBatch(memories=tuple(made)))


def test_no_text_of_a_memory_becomes_markup(own: Running, visit: Any) -> None:
    apart(lambda: attack(own.page.memory))
    seen = visit(own)
    for view in (*VIEWS, "said?session=attack-0", "know?x=<img>", "said?session=<script>"):
        seen.view(view)
        assert seen.tab.evaluate("window.hacked") is None
        assert seen.tab.locator("main img, main script").count() == 0
    seen.view("know")
    assert seen.tab.get_by_text(ATTACKS[0], exact=True).count() >= 1
    seen.tab.get_by_role("button", name=f"Proof: {ATTACKS[0]}").first.click()
    seen.tab.locator(".proof").first.wait_for()
    more(seen.tab, ATTACKS[1]).get_by_role("button", name="Forget").click()
    seen.tab.get_by_role("dialog").wait_for()
    assert seen.tab.evaluate("window.hacked") is None


def test_another_site_cannot_read_or_embed_the_page(own, visit, tmp_path):
    seen = visit(own)
    port = own.server.guard.port
    (tmp_path / "evil.html").write_text("<!doctype html><title>evil</title>")
    seen.tab.goto((tmp_path / "evil.html").as_uri())
    asked = f"fetch('http://127.0.0.1:{port}/api/know/facts', {{credentials: 'include'}})"
    answer = seen.tab.evaluate(f"{asked}.then(r => r.text()).catch(e => 'refused')")
    assert answer == "refused"
    write = f"fetch('http://127.0.0.1:{port}/api/pause', {{method: 'POST', mode: 'no-cors', body: '{{}}'}})"
    written = seen.tab.evaluate(f"{write}.then(r => r.type).catch(e => 'refused')")
    assert written in ("opaque", "refused")


def test_a_server_on_another_port_gets_nothing_that_opens_the_page(own, visit):
    """Browsers send cookies to every port of a host, so there must be none."""
    heard = list[str]()

    class Lure(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(str(self.headers))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>lure</title>")

        def log_message(self, *given: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Lure) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seen = visit(own)
        seen.tab.goto(f"http://127.0.0.1:{server.server_port}/")
        asked = f"fetch('http://127.0.0.1:{own.server.guard.port}/api/know/facts')"
        answer = seen.tab.evaluate(f"{asked}.then(r => r.text()).catch(e => 'refused')")
        stored = seen.tab.evaluate("JSON.stringify(localStorage) + document.cookie")
        server.shutdown()
    assert (answer, stored) == ("refused", "{}")
    assert heard and "ookie" not in "".join(heard)


def test_the_page_opens_again_in_another_tab_and_not_in_another_browser(own, visit):
    seen = visit(own)
    address = seen.tab.url
    assert "token" not in address
    tab = seen.tab.context.new_page()
    tab.goto(address)
    tab.wait_for_selector("main h1")
    stranger = seen.tab.context.browser.new_page()
    stranger.goto(address)
    stranger.get_by_text("Open the address that `slowcat-memory ui` prints.").wait_for()
    stranger.close()


# ------------------------------------------------------------------- by hand and by keyboard


def test_everything_works_by_keyboard_alone(own: Running, visit: Any) -> None:
    seen = visit(own)
    tab = seen.tab
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    focus(tab, "a", "Why")
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name="Why did you say that?").wait_for()
    assert tab.evaluate("document.activeElement.tagName") == "H1"
    focus(tab, "a", "Known", back=True)
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name="What do you know about me?").wait_for()
    seen.settled()
    focus(tab, "summary", "More: Anna plays the cello")
    tab.keyboard.press("Enter")
    focus(tab, "button", "Pin: Anna plays the cello")
    tab.keyboard.press("Space")
    tab.get_by_role("button", name="Pin: Anna plays the cello", pressed=True).wait_for()
    focus(tab, "button", "Undo")
    tab.keyboard.press("Enter")
    tab.get_by_role("button", name="Pin: Anna plays the cello", pressed=False).wait_for()
    focus(tab, "button", "Forget: Anna plays the cello", back=True)
    tab.keyboard.press("Enter")
    tab.get_by_role("dialog").wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_role("dialog").wait_for(state="detached")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Forget: Anna plays the cello").wait_for(state="hidden")
    assert seen.faults == []


def more(tab: Any, words: str) -> Any:
    """Open the menu of a card, and return it."""
    menu = tab.locator("details").filter(has=tab.get_by_label(f"More: {words}")).first
    menu.locator("summary").click()
    return menu


def focus(tab: Any, tag: str, name: str, *, back: bool = False) -> None:
    """Press Tab until an element has the focus, and shows that it has."""
    for _ in range(400):
        tab.keyboard.press("Shift+Tab" if back else "Tab")
        found = tab.evaluate(
            "(() => { const e = document.activeElement;"
            " return [e.tagName, e.getAttribute('aria-label') ?? e.textContent,"
            " getComputedStyle(e).outlineStyle]; })()"
        )
        if found[0] == tag.upper() and found[1].strip().startswith(name):
            assert found[2] != "none"
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_a_fact_is_corrected_forgotten_and_brought_back(own: Running, visit: Any) -> None:
    seen = visit(own)
    tab = seen.tab
    correct = more(tab, "Anna has a dentist").get_by_role("button", name="Correct")
    correct.click()
    tab.get_by_label("In your own words").press("Escape")
    tab.get_by_label("In your own words").wait_for(state="detached")
    correct.click()
    tab.get_by_label("In your own words").fill("Anna sees the dentist on 28 March.")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_role("button", name="Undo").wait_for()
    correct.wait_for(state="detached")
    tab.get_by_role("button", name="Undo").click()
    more(tab, "Anna has a dentist").get_by_role("button", name="Forget").click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_text("2 memories").wait_for()
    dialog.get_by_role("button", name="Forget").click()
    tab.get_by_text("Forgetting in 600 seconds.").wait_for()
    tab.get_by_label("More: Anna has a dentist").wait_for(state="detached")
    tab.get_by_role("button", name="Undo").click()
    tab.get_by_text("Undone: kept.").wait_for()
    tab.get_by_label("More: Anna has a dentist").wait_for()
    assert seen.faults == []


def test_what_is_said_now_appears_by_itself(own: Running, visit: Any) -> None:
    seen = visit(own)
    seen.view("said")
    seen.tab.locator(".live.on").wait_for()
    kettle = turn_at("The kettle is boiling.", MONDAY + timedelta(days=90), session="now")
    apart(lambda: own.page.memory.append(kettle).wait(30))
    seen.tab.get_by_text("The kettle is boiling.").wait_for()
    assert seen.faults == []


def test_the_slider_goes_back_in_time(own: Running, visit: Any) -> None:
    seen = visit(own)
    seen.view("when")
    york = seen.tab.locator(".card", has_text="Anna lives in York.")
    assert "over" in york.get_attribute("class")
    york.get_by_role("link", name="Anna lives in Derby.").click()
    assert seen.tab.evaluate("document.activeElement.textContent").startswith(
        "Anna lives in Derby."
    )
    slider = seen.tab.get_by_role("slider")
    slider.focus()
    slider.press("Home")
    seen.tab.locator(".card:not(.over)", has_text="Anna lives in York.").wait_for()
    seen.tab.locator(".card > .words", has_text="Anna lives in Derby.").wait_for(state="detached")
    assert "2 Mar 2026" in slider.get_attribute("aria-valuetext")


def test_a_wrong_memory_is_noted_from_its_turn(own: Running, visit: Any) -> None:
    seen = visit(own)
    seen.view("why")
    seen.tab.get_by_role("button", name="This was wrong").first.click()
    seen.tab.get_by_text("Noted as wrong").wait_for()
    assert seen.faults == []


def test_a_command_that_has_ended_is_named(tmp_path: Path, visit: Any) -> None:
    with page_of(configured(tmp_path / "memory")) as running:
        seen = visit(running)
    more(seen.tab, "Anna plays the cello").get_by_role("button", name="Pin").click()
    named = seen.tab.get_by_text("The page's command has ended.")
    named.wait_for()
    assert named.is_visible()


@pytest.mark.parametrize("view", ["know", "why", "when"])
def test_pictures_for_the_docs_are_small(lived_in, visit, tmp_path, view):
    """With SLOWCAT_PICTURES set they are written into docs/images."""
    seen = visit(lived_in, viewport={"width": 1100, "height": 760})
    seen.view(view)
    if view == "know":
        seen.tab.get_by_role("button", name="Clara person").click()
        seen.tab.locator(".person").wait_for()
    folder = PICTURES if os.environ.get("SLOWCAT_PICTURES") else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"page-{view}.png"
    seen.tab.screenshot(path=file)
    assert 5_000 < file.stat().st_size <= MOST_PICTURE
