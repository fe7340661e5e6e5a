// Why did you say that?

import { Empty, Paged, View, html, many, t, when } from "./parts.js";
import { read } from "./api.js";

const VERDICTS = {
  offered: "offered",
  visible: "still in the context",
  floor: "nothing was likely enough",
  share: "much weaker than the best",
  heard: "the same words are in the context",
  duplicate: "says the same as a better one",
  enough: "others were better",
  room: "no room in the block",
  over: "was no longer true",
  gone: "forgotten since",
  local: "not for this reader",
  muted: "muted",
};
const STAGES = {
  full: "by words and meaning",
  lexical: "by words alone",
  tail: "out of time: recent turns only",
  skipped: "the turn needs no memory",
  none: "out of time, or not loaded yet",
};

export default class Why extends View {
  state = { follow: true };

  hear(event) {
    if (event && event.what !== "recalled") return;
    this.list?.load();
    if (event && this.state.follow && !this.props.given.turn) this.setState({ live: event.turn });
  }

  reload() {
    this.one?.load();
  }

  render(props, { live, follow }) {
    const turn = Number(props.given.turn) || live || this.latest || 0;
    return html`<div class="columns">
      <section aria-label="Turns">
        <h2>Turns</h2>
        <label class="check"><input type="checkbox" checked=${follow} onChange=${(event) => this.setState({ follow: event.target.checked })} /> follow what is said now</label>
        <${Recalls} ...${props} turn=${turn} mounted=${(one) => (this.list = one)} first=${(one) => this.begin(one)} />
      </section>
      <section aria-label="One turn">
        ${turn ? html`<${Turn} ...${props} key=${turn} turn=${turn} mounted=${(one) => (this.one = one)} />` : html`<${Empty}>As soon as somebody speaks, this shows what was recalled.<//>`}
      </section>
    </div>`;
  }

  begin(turn) {
    if (this.latest) return;
    this.latest = turn;
    this.forceUpdate();
  }
}

class Recalls extends Paged {
  async fetchPage(before) {
    const got = await read("why/recalls", { scope: this.props.scope, before });
    if (got.rows.length) this.props.first(got.rows[0].turn);
    return { rows: got.rows, next: got.before || "" };
  }

  render({ turn }, { rows }) {
    return html`<ul class="talks">
        ${(rows ?? []).map((one) => html`<li key=${one.turn}>
          <a href=${`#why?turn=${one.turn}`} aria-current=${one.turn === turn ? "true" : undefined}>
            <span class="meta">${when(one.at, "minute")} · ${t("{0} offered", one.offered)} · ${one.ms.toFixed(1)} ms</span>
            <span class="words">${one.words || t("forgotten since")}</span>
          </a>
        </li>`)}
      </ul>
      ${rows && !rows.length && html`<${Empty}>No recall is on record.<//>`}
      ${this.renderMore()}`;
  }
}

class Turn extends View {
  state = { found: null, error: "" };

  componentDidMount() {
    super.componentDidMount();
    this.load();
  }

  async load() {
    const { scope, turn } = this.props;
    try {
      this.setState({ found: await read("why/turn", { scope, turn }), error: "" });
    } catch (error) {
      this.setState({ error: error.message });
    }
  }

  render({ act, turn }, { found, error }) {
    if (error) return html`<p class="error" role="alert">${error}</p>`;
    if (!found) return html`<p class="quiet wait">Reading …</p>`;
    const asked = found.turn && found.asked && found.asked !== found.turn.text;
    const [offered, rest] = [found.rows.filter((one) => one.verdict === "offered"), found.rows.filter((one) => one.verdict !== "offered")];
    return html`
      <h2>${found.turn ? found.turn.text : t("This turn is forgotten")}</h2>
      <p class="meta">${when(found.at, "minute")}${found.turn ? ` · ${found.turn.speaker}` : ""}</p>
      ${asked && html`<p class="meta">${t("searched for: {0}", found.asked)}</p>`}
      ${found.reply && html`<blockquote>${found.reply.speaker}: ${found.reply.text}</blockquote>`}
      <h3>What the model was given</h3>
      ${found.block ? html`<pre tabindex="0" aria-label="The block of memories">${found.block}</pre>` : html`<${Empty}>No memories for this turn.<//>`}
      <${Weighed} rows=${offered} title=${t("Offered")} wrong=${(id) => act("wrong", { id, turn })} />
      <${Weighed} rows=${rest} title=${t("Left out, and why")} />
      <${Laps} found=${found} />`;
  }
}

function Weighed({ rows, title, wrong }) {
  if (!rows.length) return null;
  return html`<h3>${title}</h3>
    <ul class="weighed">
      ${rows.map((one) => html`<li key=${one.id}>
        <span class="words">${one.memory ? one.memory.text : t("forgotten since")}</span>
        <span class="meta">${[
          t(VERDICTS[one.verdict] ?? one.verdict),
          one.likely ? t("{0} % likely", Math.round(one.likely * 100)) : "",
          one.memory ? when(one.memory.since) : "",
        ].filter(Boolean).join(" · ")}</span>
        ${wrong && one.memory && html`<button class="verb" onClick=${() => wrong(one.id)}>This was wrong</button>`}
      </li>`)}
    </ul>`;
}

function Laps({ found }) {
  const laps = Object.entries(found.timings);
  const most = Math.max(...laps.map(([, ms]) => ms), 0.001);
  return html`<h3>How long it took</h3>
    <p class="meta">${t(STAGES[found.stage] ?? found.stage)} · ${many(found.candidates, "candidate")} · ${t("about {0}", many(found.tokens, "token"))}</p>
    ${laps.length > 0 && html`<table class="laps"><thead><tr><th scope="col">Stage</th><th scope="col">ms</th><td></td></tr></thead><tbody>
      ${laps.map(([name, ms]) => html`<tr key=${name}><th scope="row">${name}</th><td class="number">${ms.toFixed(2)}</td>
        <td class="bar"><meter min="0" max=${most} value=${ms} aria-hidden="true"></meter></td></tr>`)}
    </tbody></table>`}`;
}
