// What several views are made of. Texts of memories are only ever children of elements: text nodes.

import { Component, h } from "./vendor/preact/preact.mjs";
import htm from "./vendor/htm/htm.module.js";
import { change, read } from "./api.js";

export { Component };

let [words, locale, zone] = [{}, "en-GB", "UTC"];
let translated = new WeakMap();

// The page speaks the language of the memory. It is written in English; a table has the others.
export async function setPlace({ language, zone: name }) {
  if (language === "german") {
    [words, locale] = [await (await fetch("/static/german.json")).json(), "de-DE"];
    translated = new WeakMap();
    document.documentElement.lang = "de";
  }
  try {
    new Intl.DateTimeFormat(locale, { timeZone: name });
    zone = name;
  } catch {
    // not a name that this browser knows: UTC
  }
}

// The page's own words in its language; "{0}" stands for the first value.
export const t = (text, ...values) => (words[text] ?? text).replace(/\{(\d)\}/g, (_, place) => values[place]);

// Translates what a template itself says, between its tags and in labels; never a value in it.
function inOwnLanguage(strings) {
  let inTag = false;
  const one = (piece) => {
    if (piece === "<" || piece === ">") inTag = piece === "<";
    else if (inTag) return piece.replace(/(aria-label|title)="([^"]+)"/g, (_, name, text) => `${name}="${t(text)}"`);
    const text = piece.trim();
    return text ? piece.replace(text, () => t(text)) : piece;
  };
  return strings.map((part) => part.replace(/[<>]|[^<>]+/g, one));
}

export function html(strings, ...values) {
  if (!translated.has(strings)) translated.set(strings, inOwnLanguage(strings));
  return htm.call(h, translated.get(strings), ...values);
}

const shapes = {
  day: { day: "numeric", month: "short", year: "numeric" },
  minute: { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" },
  clock: { hour: "2-digit", minute: "2-digit" },
};
export function when(iso, shape = "day") {
  if (!iso) return "";
  return new Intl.DateTimeFormat(locale, { ...shapes[shape], timeZone: zone }).format(new Date(iso));
}

export const amount = (n) => n.toLocaleString(locale);
export const many = (n, one, more = `${one}s`) => `${amount(n)} ${t(n === 1 ? one : more)}`;

export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit += 1) n /= 1000;
  return `${n.toFixed(unit && n < 10 ? 1 : 0)} ${units[unit]}`;
}

// A component that its owner can reach: `mounted` is called with it, and with null when it goes.
// What it shows is loaded again after a change, and, unless it knows better, at every event.
export class View extends Component {
  hear() {
    this.reload();
  }

  reload() {
    this.load?.();
  }

  componentDidMount() {
    this.props.mounted?.(this);
  }

  componentWillUnmount() {
    this.props.mounted?.(null);
  }
}

// A view that loads pages of rows and can be told to read them again.
export class Paged extends View {
  state = { rows: null, next: "", busy: false, error: "" };
  turn = 0;

  componentDidMount() {
    super.componentDidMount();
    this.load();
  }

  componentWillUnmount() {
    super.componentWillUnmount();
    this.turn += 1;
  }

  // Returns {rows, next}: to be written by each view.
  fetchPage() {
    throw new Error("a view without rows");
  }

  async load(more = false) {
    const mine = (this.turn += 1);
    this.setState({ busy: true });
    try {
      const found = await this.fetchPage(more ? this.state.next : "");
      if (mine !== this.turn) return;
      const rows = more ? [...(this.state.rows ?? []), ...found.rows] : found.rows;
      this.setState({ rows, next: found.next, busy: false, error: "", extra: found.extra ?? null });
    } catch (error) {
      if (mine === this.turn) this.setState({ busy: false, error: error.message });
    }
  }

  renderMore() {
    const { next, busy, error, rows } = this.state;
    if (error) return html`<p class="error" role="alert">${error}</p>`;
    if (rows === null) return html`<p class="quiet wait">Reading …</p>`;
    if (!next) return null;
    return html`<button class="more" disabled=${busy} onClick=${() => this.load(true)}>Show more</button>`;
  }
}

export function Empty({ children }) {
  return html`<p class="quiet empty">${children}</p>`;
}

const HOW = {
  said: "said",
  inferred: "worked out",
  yours: "written by you",
};

function source(memory) {
  if (!memory.by.job) return "";
  return t(memory.how === "said" ? "read by {0}" : "by {0}", memory.by.model || t("rule"));
}

export const held = (since, until) => [since && t("since {0}", when(since)), until && t("until {0}", when(until))];

export function Meta({ memory }) {
  const parts = memory.turn ? [] : [ // the title of a turn says who and when
    memory.how === "said" && memory.speaker ? t("said by {0}", memory.speaker) : t(HOW[memory.how]),
    ...held(memory.since, !memory.over && memory.until),
    memory.over,
    memory.sure === "low" && t("uncertain"),
    source(memory),
  ].filter(Boolean);
  return html`<p class="meta">
    ${parts.join(" · ")}
    ${memory.pinned && html` <span class="tag">pinned</span>`}
    ${memory.muted && html` <span class="tag">muted</span>`}
    ${memory.local_only && html` <span class="tag">this machine only</span>`}
  </p>`;
}

function Toggle({ on, label, act, hint, of }) {
  return html`<button class="verb" aria-pressed=${on ? "true" : "false"} aria-label=${`${t(label)}: ${of}`} title=${t(hint)} onClick=${act}>${t(label)}</button>`;
}

// Escape closes a menu, and gives the focus back to what opened it.
function shut({ key, currentTarget }) {
  if (key !== "Escape") return;
  currentTarget.open = false;
  currentTarget.firstElementChild.focus();
}

// One memory with its verbs. `act` is the page's: it carries out changes and shows how to undo them.
export class MemoryCard extends Component {
  state = { proof: null, editing: false, error: "" };

  get id() {
    return this.props.memory.id;
  }

  async toggleProof() {
    if (this.state.proof) return this.setState({ proof: null });
    try {
      this.setState({ proof: await read("know/memory", { scope: this.props.scope, id: this.id }) });
    } catch (error) {
      this.setState({ error: error.message });
    }
  }

  mark(name, on) {
    this.props.act("mark", { id: this.id, [name]: on });
  }

  async correct(event) {
    event.preventDefault();
    const text = new FormData(event.target).get("text").trim();
    if (text && text !== this.props.memory.text && !(await this.props.act("correct", { id: this.id, text }))) return;
    this.setState({ editing: false });
  }

  renderEdit() {
    const field = `edit-${this.id}`;
    return html`<form class="edit" onSubmit=${(event) => this.correct(event)} onKeyDown=${(event) => event.key === "Escape" && this.setState({ editing: false })}>
      <label for=${field}>In your own words</label>
      <textarea id=${field} name="text" rows="3" maxlength="4000" defaultValue=${this.props.memory.text}></textarea>
      <div class="verbs">
        <button type="submit" class="main">Save</button>
        <button type="button" onClick=${() => this.setState({ editing: false })}>Cancel</button>
      </div>
    </form>`;
  }

  renderVerbs() {
    const { memory, forget } = this.props;
    const turn = memory.family === "chunk";
    const of = memory.text.slice(0, 60); // so that a list of buttons can be told apart by ear
    return html`<div class="verbs">
      <button class="verb" aria-label=${t("Proof: {0}", of)} aria-expanded=${this.state.proof ? "true" : "false"} onClick=${() => this.toggleProof()}>Proof</button>
      <details onKeyDown=${shut}>
        <summary class="verb" aria-label=${t("More: {0}", of)}>More</summary>
        <div class="verbs">
          <${Toggle} on=${memory.pinned} label="Pin" of=${of} hint="Always include this" act=${() => this.mark("pinned", !memory.pinned)} />
          <${Toggle} on=${memory.muted} label="Mute" of=${of} hint="Keep it, and never bring it up" act=${() => this.mark("muted", !memory.muted)} />
          <${Toggle} on=${memory.local_only} label="Local" of=${of} hint="Never send it to another machine" act=${() => this.mark("local_only", !memory.local_only)} />
          ${!turn && !memory.retired && html`<button class="verb" aria-label=${t("Correct: {0}", of)} onClick=${() => this.setState({ editing: true })}>Correct</button>`}
          <button class="verb" aria-label=${t("Forget: {0}", of)} onClick=${() => forget({ id: this.id }, memory.text)}>Forget</button>
        </div>
      </details>
    </div>`;
  }

  render({ memory, title, children }) {
    const { proof, editing, error } = this.state;
    return html`<li class=${`card ${memory.retired ? "over" : ""} ${memory.muted ? "muted" : ""}`}>
      ${title && html`<h3>${title}</h3>`}
      ${editing ? this.renderEdit() : html`<p class="words">${memory.text}</p>`}
      <${Meta} memory=${memory} />
      ${children}
      ${this.renderVerbs()}
      ${error && html`<p class="error" role="alert">${error}</p>`}
      ${proof && html`<${Proof} proof=${proof} />`}
    </li>`;
  }
}

function Proof({ proof }) {
  return html`<div class="proof">
    ${proof.quote && html`<blockquote>${proof.quote}</blockquote>`}
    ${proof.said.map((turn) => html`<${Said} key=${turn.turn} turn=${turn} />`)}
    ${proof.context && html`<p class="meta">Context: ${proof.context}</p>`}
    ${proof.replaced && html`<p class="meta">Replaced by: ${proof.replaced.text}</p>`}
    ${proof.origins.map((one) => html`<p class="meta" key=${one.id}>Made from: ${one.text}</p>`)}
    ${!proof.said.length && !proof.origins.length && html`<p class="meta">No turn says this: it was written or imported.</p>`}
    <p class="meta">${proof.by.job ? t("Made by: {0}, version {1}", t(proof.by.job), proof.by.version) : t("No job made this.")} · id ${proof.id}</p>
  </div>`;
}

function Said({ turn }) {
  const to = `#said?session=${encodeURIComponent(turn.session)}&at=${turn.turn}`;
  return html`<p class="line"><a href=${to}>${when(turn.at, "minute")}</a> <b>${turn.speaker}</b>: ${turn.text}</p>`;
}

// Asks before something is forgotten, with what would go.
export class ForgetDialog extends Component {
  state = { found: null, error: "" };

  async componentDidMount() {
    this.box.showModal();
    const { scope, order } = this.props;
    try {
      this.setState({ found: await change("forget/preview", { scope, ...order }) });
    } catch (error) {
      this.setState({ error: error.message });
    }
  }

  render({ title, done }) {
    const { found, error } = this.state;
    const none = found && !found.turns && !found.memories;
    return html`<dialog ref=${(box) => (this.box = box)} onClose=${() => done(this.box?.returnValue === "yes")} aria-labelledby="forget-title">
      <form method="dialog">
        <h2 id="forget-title">Forget for good?</h2>
        <p class="words">${title}</p>
        ${error && html`<p class="error" role="alert">${error}</p>`}
        ${!found && !error && html`<p class="quiet wait">Looking what belongs to it …</p>`}
        ${none && html`<p>There is nothing to forget.</p>`}
        ${found && !none && html`
          <p>${t("{0} and {1} made from them are deleted, from backups on this machine too.", many(found.turns, "turn"), many(found.memories, "memory", "memories"))}</p>
          <ul class="preview">
            ${found.rows.map((one) => html`<li key=${one.id}>${one.speaker}: ${one.text}</li>`)}
            ${found.made.map((one) => html`<li key=${one.id}>${one.text}</li>`)}
          </ul>
          <p class="quiet">${t("You have {0} seconds to undo it.", found.seconds)}</p>`}
        <div class="verbs">
          <button value="no" autofocus>Keep</button>
          <button value="yes" class="danger" disabled=${!found || none}>Forget</button>
        </div>
      </form>
    </dialog>`;
  }
}
