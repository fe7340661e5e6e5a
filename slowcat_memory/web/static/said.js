// What did we say?

import { Empty, MemoryCard, Paged, View, html, many, t, when } from "./parts.js";
import { read } from "./api.js";

const FOUND_BY = {
  turn: "its words",
  window: "the words around it",
  session: "its conversation",
  dense: "meaning",
  tokens: "meaning, word by word",
  keys: "a fact or question about it",
  asked: "an earlier question",
};

export default class Said extends View {
  state = { question: "" };

  reload() {
    this.list?.load();
    this.hits?.load();
    this.turns?.load();
  }

  hear(event) {
    if (!event || event.what === "forgotten") return this.reload();
    if (event.what === "stored") this.list?.load();
  }

  search(event) {
    event.preventDefault();
    this.setState({ question: new FormData(event.target).get("q").trim() });
  }

  render(props, { question }) {
    const { session, at } = props.given;
    return html`
      <form class="search" role="search" onSubmit=${(event) => this.search(event)}>
        <label for="q">Search by words or meaning</label>
        <div class="row"><input id="q" name="q" type="search" maxlength="400" autocomplete="off" /><button class="main">Search</button></div>
      </form>
      ${question && html`<${Hits} ...${props} key=${question} question=${question} mounted=${(one) => (this.hits = one)} />`}
      <div class="columns">
        <${Conversations} ...${props} mounted=${(one) => (this.list = one)} />
        ${session
          ? html`<${Turns} ...${props} key=${`${session} ${at}`} session=${session} at=${at ?? ""} mounted=${(one) => (this.turns = one)} />`
          : html`<section aria-label="Conversation"><h2>Conversation</h2><${Empty}>Choose a conversation to read it.<//></section>`}
      </div>
      <${Range} ...${props} />`;
  }
}

class Hits extends Paged {
  async fetchPage() {
    const { rows } = await read("said/search", { scope: this.props.scope, q: this.props.question });
    return { rows, next: "" };
  }

  render({ scope, act, forget, question }, { rows }) {
    return html`<section aria-label="Found">
      <h2>${t("Found for “{0}”", question)}</h2>
      <ul class="cards">
        ${(rows ?? []).map((one) => html`<${MemoryCard} key=${one.id} memory=${one} scope=${scope} act=${act} forget=${forget}>
          <p class="meta">${t("{0} % likely · found by {1}", Math.round(one.likely * 100), found(one.views))}
            ${one.session && html` · <a href=${`#said?session=${encodeURIComponent(one.session)}&at=${one.turns[0]}`}>in its conversation</a>`}</p>
        <//>`)}
      </ul>
      ${rows && !rows.length && html`<${Empty}>Nothing was found.<//>`}
      ${this.renderMore()}
    </section>`;
  }
}

function found(views) {
  const best = Object.entries(views).filter(([, score]) => score > 0.005).sort((a, b) => b[1] - a[1]);
  return best.map(([name]) => t(FOUND_BY[name] ?? name)).join(", ") || t("nothing in particular");
}

class Conversations extends Paged {
  async fetchPage(after) {
    const got = await read("said/conversations", { scope: this.props.scope, after });
    return { rows: got.rows, next: got.after };
  }

  render({ given }, { rows }) {
    return html`<section aria-label="Conversations">
      <h2>Conversations</h2>
      <ul class="talks">
        ${(rows ?? []).map((one) => html`<li key=${one.id}>
          <a href=${`#said?session=${encodeURIComponent(one.id)}`} aria-current=${given.session === one.id ? "true" : undefined}>
            <span class="meta">${when(one.started, "minute")} · ${many(one.turns, "turn")}${one.open ? ` · ${t("now")}` : ""}</span>
            <span class="words">${one.words || "…"}</span>
          </a>
        </li>`)}
      </ul>
      ${rows && !rows.length && html`<${Empty}>Nothing was said yet.<//>`}
      ${this.renderMore()}
    </section>`;
  }
}

class Turns extends Paged {
  async fetchPage(after) {
    const { scope, session, at } = this.props;
    const got = await read("said/turns", { scope, session, after, at: after ? "" : at });
    return { rows: got.rows, next: got.after || "", extra: got.session };
  }

  render({ scope, act, forget, session, at }, { rows, extra }) {
    return html`<section aria-label="Conversation">
      <h2>${extra ? when(extra.started, "minute") : t("Conversation")}</h2>
      ${extra && html`<div class="verbs"><button class="verb" onClick=${() => forget({ session }, t("The conversation of {0}", when(extra.started, "minute")))}>Forget this conversation</button></div>`}
      <ol class="cards turns">
        ${(rows ?? []).map((one) => html`<${MemoryCard} key=${one.id} memory=${asMemory(one)} scope=${scope} act=${act} forget=${forget}
          title=${`${one.speaker}, ${when(one.at, "clock")}`}>
          ${one.role === "user" && html`<p class="meta">${String(one.turn) === at ? `${t("This turn")} · ` : ""}<a href=${`#why?turn=${one.turn}`}>What was recalled for it</a></p>`}
        <//>`)}
      </ol>
      ${this.renderMore()}
    </section>`;
  }
}

function asMemory(turn) {
  return { ...turn, family: "chunk", how: "said", since: turn.at, sure: "high", by: { job: "", model: "" } };
}

function Range({ forget }) {
  const ask = (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    const [from, to] = [given.get("from"), given.get("to")];
    if (!from || !to) return;
    const since = new Date(`${from}T00:00`);
    const until = new Date(`${to}T00:00`);
    until.setDate(until.getDate() + 1);
    forget({ since: since.toISOString(), until: until.toISOString() }, t("Everything said from {0} to {1}", from, to));
  };
  return html`<section aria-label="Forget a time"><h2>Forget a time</h2>
    <form class="filters" onSubmit=${ask}>
      <label>From <input type="date" name="from" required /></label>
      <label>to <input type="date" name="to" required /></label>
      <button>Show what would go</button>
    </form>
  </section>`;
}
