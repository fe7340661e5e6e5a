// The page: which view is shown, whose memory, what happened, and how to take it back.

import { render } from "./vendor/preact/preact.mjs";
import { Component, ForgetDialog, html, setPlace, t } from "./parts.js";
import { change, enter, listen, read } from "./api.js";

const VIEWS = [
  ["know", "What do you know about me?", "Known"],
  ["said", "What did we say?", "Said"],
  ["why", "Why did you say that?", "Why"],
  ["when", "What was true when?", "When"],
  ["thinking", "What are you thinking?", "Thinking"],
  ["health", "Is it well?", "Health"],
];
const SETTLE_MS = 400; // events that come together are one reading

function place() {
  const [name, query] = location.hash.slice(1).split("?");
  const known = VIEWS.some(([view]) => view === name);
  return { name: known ? name : "know", given: Object.fromEntries(new URLSearchParams(query)) };
}

class Page extends Component {
  state = { start: null, scope: "", view: null, place: place(), notice: null, error: "", live: false, order: null };

  async componentDidMount() {
    addEventListener("hashchange", () => this.goTo(place(), true));
    try {
      await enter();
      const start = await read("start");
      await setPlace(start);
      this.setState({ start, scope: start.scope });
      this.goTo(place());
      listen((event) => this.hear(event), (live) => this.setState({ live }));
    } catch (error) {
      this.setState({ error: error.message });
    }
  }

  async goTo(at, moved = false) {
    try {
      const { default: View } = await import(`./${at.name}.js`);
      this.setState({ view: View, place: at, error: "" }, () => moved && this.heading?.focus());
      document.title = `${t(VIEWS.find(([name]) => name === at.name)[1])} · slowcat`;
    } catch {
      this.setState({ error: t("The page's command has ended. Start `slowcat-memory ui` again.") });
    }
  }

  hear(event) {
    if (event && event.scope !== this.state.scope) return;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.shown?.hear?.(event), SETTLE_MS);
  }

  // Carries out a change; returns whether it was done. The view is read again when it was.
  async act(path, given) {
    try {
      const found = await change(path, { scope: this.state.scope, ...given });
      this.notify(t(found.words), found.undo, found.seconds);
      this.shown?.reload?.();
      return true;
    } catch (error) {
      this.notify(error.message);
      return false;
    }
  }

  notify(words, undo = null, seconds = 0) {
    clearTimeout(this.fading);
    if (!words) return this.setState({ notice: null });
    this.setState({ notice: { words, undo, seconds } });
    // What can be undone for good stays until it is closed; an order to forget is over in time.
    if (seconds) this.fading = setTimeout(() => this.notify(t("Forgotten.")), seconds * 1000);
  }

  async undo({ path, given, words }) {
    try {
      await change(path, given);
      this.notify(t("Undone: {0}.", t(words).toLowerCase()));
    } catch (error) {
      this.notify(error.message);
    }
    this.shown?.reload?.();
  }

  forget(order, title) {
    this.setState({ order: { order, title } });
  }

  decide(yes) {
    const { order } = this.state.order;
    this.setState({ order: null });
    if (yes) this.act("forget", order);
  }

  renderHead() {
    const { start, scope, place: at, live } = this.state;
    return html`<header>
      <a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); this.heading?.focus(); }}>Skip to the content</a>
      <div class="brand">
        <span class="name">slowcat</span>
        ${start.scopes.length > 1
          ? html`<label>Whose <select value=${scope} onChange=${(event) => this.setState({ scope: event.target.value })}>
              ${start.scopes.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
            </select></label>`
          : html`<span class="quiet">${scope}</span>`}
        <span class=${live ? "live on" : "live"} role="status">${t(live ? "live" : "not connected")}</span>
      </div>
      <nav aria-label="Views">
        ${VIEWS.map(([name, question, short]) => html`<a key=${name} href=${`#${name}`} title=${t(question)}
          aria-current=${name === at.name ? "page" : undefined}>${t(short)}</a>`)}
      </nav>
    </header>`;
  }

  renderNotice() {
    const { notice } = this.state;
    return html`<div class="notice" role="status" aria-live="polite">
      ${notice && html`<p>
        <span>${notice.seconds ? t("{0} in {1} seconds.", notice.words, notice.seconds) : notice.words}</span>
        ${notice.undo && html`<button onClick=${() => this.undo(notice.undo)}>Undo</button>`}
        <button aria-label="Close this message" onClick=${() => this.notify("")}>×</button>
      </p>`}
    </div>`;
  }

  render(_, { start, scope, view: View, place: at, error, order }) {
    if (error) return html`<main><p class="error" role="alert">${error}</p></main>`;
    if (!start || !View) return html`<p class="quiet wait">Opening the memory …</p>`;
    const question = VIEWS.find(([name]) => name === at.name)[1];
    return html`
      ${this.renderHead()}
      <main id="content">
        <h1 tabindex="-1" ref=${(heading) => (this.heading = heading)}>${t(question)}</h1>
        <${View} key=${`${at.name} ${scope}`} scope=${scope} given=${at.given} everyone=${start.everyone}
          mounted=${(shown) => (this.shown = shown)}
          act=${(path, given) => this.act(path, given)}
          forget=${(what, title) => this.forget(what, title)} />
      </main>
      <footer><p class="quiet">Everything is shown here, local-only memories too: this page is on this machine.</p></footer>
      ${this.renderNotice()}
      ${order && html`<${ForgetDialog} scope=${scope} order=${order.order} title=${order.title} done=${(yes) => this.decide(yes)} />`}`;
  }
}

const root = document.getElementById("page");
root.replaceChildren();
render(html`<${Page} />`, root);
