// What was true when?

import { Chart } from "./chart.js";
import { Empty, Paged, held, html, t, when } from "./parts.js";
import { read } from "./api.js";

const DAY_MS = 86_400_000;
const WAIT_MS = 150; // while the slider moves

export default class When extends Paged {
  constructor(props) {
    super(props);
    this.wanted = { what: "facts", believed: false, over: true };
    this.at = null;
  }

  async fetchPage(after) {
    const at = this.at === null ? "" : new Date(this.at).toISOString();
    const got = await read("when", { scope: this.props.scope, after, at, ...this.wanted });
    this.first = got.first ? Date.parse(got.first) : null;
    this.last = got.last ? Date.parse(got.last) : null;
    this.weeks = got.weeks ?? this.weeks; // read once: they do not depend on the day
    return { rows: got.rows, next: got.after };
  }

  renderPicture() {
    if (!(this.weeks?.length > 1)) return null;
    const column = (place) => this.weeks.map((one) => one[place]);
    const [first, last] = [this.weeks[0][0], this.weeks.at(-1)[0]].map((one) => when(one));
    return html`<${Chart} ends=${[first, last]} label=${t("Week by week, from {0} to {1}", first, last)} series=${[
      { name: t("conversations"), kind: "wide", values: column(1) },
      { name: t("statements that began"), kind: "began", values: column(2) },
      { name: t("statements that ended"), kind: "ended", values: column(3).map((n) => -n) },
    ]} />`;
  }

  choose(given) {
    Object.assign(this.wanted, given);
    this.load();
  }

  move(at) {
    this.at = at;
    this.setState({});
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.load(), WAIT_MS);
  }

  renderSlider() {
    if (!this.first || !this.last) return null;
    const days = Math.max(1, Math.ceil((this.last - this.first) / DAY_MS));
    const at = this.at ?? this.last;
    const day = Math.round((at - this.first) / DAY_MS);
    const shown = when(new Date(at).toISOString());
    return html`<div class="slider">
      <label for="at">As of <output>${shown}</output></label>
      <input id="at" type="range" min="0" max=${days} value=${day} aria-valuetext=${shown}
        onInput=${(event) => this.move(this.first + Number(event.target.value) * DAY_MS)} />
      <div class="ends quiet"><span>${when(new Date(this.first).toISOString())}</span><span>${when(new Date(this.last).toISOString())}</span></div>
    </div>`;
  }

  render(_, { rows }) {
    const { what, believed, over } = this.wanted;
    return html`
      ${this.renderPicture()}
      ${this.renderSlider()}
      <div class="filters">
        <label>Show <select value=${what} onChange=${(event) => this.choose({ what: event.target.value })}>
          <option value="facts">facts</option><option value="people">people and things</option>
        </select></label>
        <label class="check"><input type="checkbox" checked=${over} onChange=${(event) => this.choose({ over: event.target.checked })} /> also what was over by then</label>
        <label class="check"><input type="checkbox" checked=${believed} onChange=${(event) => this.choose({ believed: event.target.checked })} /> by what was known then</label>
      </div>
      <ul class="cards">
        ${(rows ?? []).map((one) => html`<${Row} key=${one.id} one=${one} />`)}
      </ul>
      ${rows && !rows.length && html`<${Empty}>Nothing is known about that time.<//>`}
      ${this.renderMore()}`;
  }
}

function Row({ one }) {
  const words = one.what ? `${one.subject} ${t(one.what)} ${one.object}` : one.text;
  const jump = (event) => {
    event.preventDefault();
    const to = document.getElementById(`fact-${one.replaced_by}`);
    to?.focus();
    to?.scrollIntoView({ block: "center" });
  };
  return html`<li id=${`fact-${one.id}`} tabindex="-1" class=${`card ${one.held ? "" : "over"}`}>
    <p class="words">${words}</p>
    <p class="meta">${[...held(one.since, one.until ?? one.retired), one.held ? "" : t("over by then")].filter(Boolean).join(" · ")}</p>
    ${one.quote && html`<q>${one.quote}</q>`}
    ${one.replacement && html`<p class="meta">Replaced by <a href="#when" onClick=${jump}>${one.replacement}</a></p>`}
    ${one.turns.length > 0 && html`<p class="meta">${t("turn {0}", one.turns[0])}</p>`}
  </li>`;
}
