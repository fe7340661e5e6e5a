// What do you know about me?

import { Component, Empty, MemoryCard, Paged, View, amount, held, html, many, t } from "./parts.js";
import { read } from "./api.js";

const KINDS = [
  ["fact", "Facts"],
  ["note", "Notes"],
  ["summary", "Summaries"],
];
const MARKS = [
  ["", "all"],
  ["pinned", "pinned"],
  ["muted", "muted"],
  ["local", "this machine only"],
];

export default class Know extends View {
  reload() {
    this.blocks?.load();
    this.facts?.load();
    this.people?.load();
  }

  render(props) {
    return html`
      <${Blocks} ...${props} mounted=${(one) => (this.blocks = one)} />
      <div class="columns">
        <${People} ...${props} mounted=${(one) => (this.people = one)} />
        <${Facts} ...${props} mounted=${(one) => (this.facts = one)} />
      </div>`;
  }
}

const TITLES = {
  human: "About you",
  profile: "Your profile",
  persona: "About the agent",
  relationship: "About you two",
  self_perception: "How the agent sees itself",
  background_context: "The last days",
};

class Blocks extends Paged {
  async fetchPage() {
    const { rows } = await read("know/blocks", { scope: this.props.scope });
    const place = (one) => (one.label in TITLES ? Object.keys(TITLES).indexOf(one.label) : 99);
    return { rows: rows.sort((a, b) => place(a) - place(b)), next: "" };
  }

  render({ scope, act, forget }, { rows }) {
    if (rows && !rows.length) return null;
    return html`<section aria-label="Always in mind">
      <h2>Always in mind</h2>
      <ul class="cards wide">
        ${(rows ?? []).map((one) => html`<${MemoryCard} key=${one.id} memory=${one} scope=${scope} act=${act} forget=${forget}
          title=${t(TITLES[one.label] ?? one.label)} />`)}
      </ul>
      ${this.renderMore()}
    </section>`;
  }
}

class Facts extends Paged {
  constructor(props) {
    super(props);
    this.wanted = { kind: "fact", mark: "", past: false };
  }

  async fetchPage(after) {
    const found = await read("know/facts", { scope: this.props.scope, after, ...this.wanted });
    return { rows: found.rows, next: found.after, extra: found.counts };
  }

  choose(given) {
    Object.assign(this.wanted, given);
    this.load();
  }

  count(kind) {
    const counts = this.state.extra;
    if (!counts) return "";
    const total = Object.entries(counts)
      .filter(([name]) => name === kind || name.startsWith(`${kind}/`))
      .reduce((sum, [, n]) => sum + n, 0);
    return ` (${amount(total)})`;
  }

  render({ scope, act, forget }, { rows }) {
    const { kind, mark, past } = this.wanted;
    return html`<section aria-label="Facts and notes">
      <h2>Facts and notes</h2>
      <div class="filters">
        <label>Show <select value=${kind} onChange=${(event) => this.choose({ kind: event.target.value, mark: "" })}>
          ${KINDS.map(([name, words]) => html`<option key=${name} value=${name}>${t(words)}${this.count(name)}</option>`)}
        </select></label>
        <label>Marked <select value=${mark} onChange=${(event) => this.choose({ mark: event.target.value })}>
          ${MARKS.map(([name, words]) => html`<option key=${name} value=${name}>${t(words)}</option>`)}
        </select></label>
        <label class="check"><input type="checkbox" checked=${past} onChange=${(event) => this.choose({ past: event.target.checked })} /> also what no longer holds</label>
      </div>
      <ul class="cards">
        ${(rows ?? []).map((one) => html`<${MemoryCard} key=${one.id} memory=${one} scope=${scope} act=${act} forget=${forget} />`)}
      </ul>
      ${rows && !rows.length && html`<${Empty}>${t(mark ? "Nothing is marked so." : "Nothing yet. Facts are read from conversations while nobody speaks.")}<//>`}
      ${this.renderMore()}
    </section>`;
  }
}

class People extends Paged {
  constructor(props) {
    super(props);
    this.every = false;
  }

  async fetchPage(after) {
    const found = await read("know/people", { scope: this.props.scope, every: this.every, after });
    return { rows: found.rows, next: found.after };
  }

  choose(every) {
    this.every = every;
    this.load();
  }

  render({ scope }, { rows, open }) {
    return html`<section aria-label="People">
      <h2>People</h2>
      <div class="filters">
        <label class="check"><input type="checkbox" onChange=${(event) => this.choose(event.target.checked)} /> also places and things</label>
      </div>
      <ul class="people">
        ${(rows ?? []).map((one) => html`<li key=${one.id}>
          <button aria-expanded=${open === one.id ? "true" : "false"} onClick=${() => this.setState({ open: open === one.id ? "" : one.id })}>
            <span class="words">${one.name}</span> <span class="quiet">${t(one.type)} · ${many(one.relations, "relation")}</span>
          </button>
          ${open === one.id && html`<${Person} scope=${scope} id=${one.id} />`}
        </li>`)}
      </ul>
      ${rows && !rows.length && html`<${Empty}>Nobody is known yet.<//>`}
      ${this.renderMore()}
    </section>`;
  }
}

class Person extends Component {
  state = { found: null, error: "" };

  async componentDidMount() {
    try {
      this.setState({ found: await read("know/person", { scope: this.props.scope, id: this.props.id }) });
    } catch (error) {
      this.setState({ error: error.message });
    }
  }

  render(_, { found, error }) {
    if (error) return html`<p class="error" role="alert">${error}</p>`;
    if (!found) return html`<p class="quiet wait">Reading …</p>`;
    return html`<div class="person">
      ${found.also.length > 0 && html`<p class="meta">${t("also: {0}", found.also.join(", "))}</p>`}
      <ul>
        ${found.relations.map((one) => html`<li key=${one.id} class=${one.until ? "over" : ""}>
          <span class="words">${one.own ? `${t(one.what)} ${one.object}` : `${one.subject} ${t(one.what)} ${one.object}`}</span>
          <span class="meta">${held(one.since, one.until).filter(Boolean).join(" ")}</span>
          ${one.quote && html`<q>${one.quote}</q>`}
        </li>`)}
        ${found.facts.map((one) => html`<li key=${one.id} class=${one.retired ? "over" : ""}>
          <span class="words">${one.text}</span> <span class="meta">${held(one.since)}</span>
        </li>`)}
      </ul>
      ${found.more > 0 && html`<p class="meta">${t("and {0}", many(found.more, "older relation"))}</p>`}
    </div>`;
  }
}
