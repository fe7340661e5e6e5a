// Is it well?

import { Chart } from "./chart.js";
import { Empty, View, amount, bytes, html, many, t, when } from "./parts.js";
import { change, read } from "./api.js";

const SIGNS = { fine: "✓", note: "·", wrong: "✗" };

export default class Health extends View {
  state = { found: null, speed: null, checks: null, doing: "", error: "" };

  componentDidMount() {
    super.componentDidMount();
    this.load();
  }

  hear(event) {
    if (!event || event.what === "recalled") this.load();
  }

  async load() {
    try {
      const [found, speed] = [await read("health"), await read("health/speed")];
      this.setState({ found, speed, error: "" });
    } catch (error) {
      this.setState({ error: error.message });
    }
  }

  async order(words, work) {
    this.setState({ doing: words });
    try {
      this.setState({ doing: await work() });
    } catch (error) {
      this.setState({ doing: error.message });
    }
  }

  backUp() {
    this.order(t("Copying and checking the copy …"), async () => {
      const made = await change("backup");
      this.load();
      return t("Backed up and checked: {0}.", bytes(made.bytes));
    });
  }

  doctor() {
    this.order(t("Checking …"), async () => {
      const { rows } = await read("health/doctor");
      this.setState({ checks: rows });
      return many(rows.filter((one) => one.state === "wrong").length, "thing is wrong", "things are wrong");
    });
  }

  render(_, { found, speed, checks, doing, error }) {
    if (error) return html`<p class="error" role="alert">${error}</p>`;
    if (!found) return html`<p class="quiet wait">Reading …</p>`;
    return html`
      <section aria-label="Speed"><h2>Speed</h2>
        ${speed?.at.length > 1 ? html`<${Speed} speed=${speed} />` : html`<${Empty}>No recalls on record yet.<//>`}
      </section>
      <section aria-label="Checks"><h2>Checks and backups</h2>
        <div class="verbs">
          <button class="main" onClick=${() => this.backUp()}>Back up</button>
          <button onClick=${() => this.doctor()}>Run the doctor</button>
        </div>
        <p role="status">${doing}</p>
        ${checks && html`<ul class="checks">${checks.map((one) => html`<li key=${one.what + one.found} class=${one.state}>
          <span class="sign" role="img" aria-label=${t(one.state)}>${SIGNS[one.state]}</span> <b>${t(one.what)}</b>: ${one.found}${one.hint && html` <span class="meta">${one.hint}</span>`}
        </li>`)}</ul>`}
        ${found.backups.length
          ? html`<ul class="plain">${found.backups.map((one) => html`<li key=${one.at}>${when(one.at, "minute")}, ${bytes(one.bytes)}</li>`)}</ul>`
          : html`<p class="quiet">No backups yet.</p>`}
      </section>
      <section aria-label="Size"><h2>Size</h2>
        <p>${t("{0} on disk", bytes(found.disk_bytes))} · ${found.embedding}</p>
        <ul class="plain">${Object.entries(found.counts).map(([name, n]) => html`<li key=${name}>${amount(n)} ${t(name)}</li>`)}</ul>
      </section>
      <section aria-label="Connected"><h2>Connected</h2>
        <p>${found.others.length ? t("Also in use by {0}.", found.others.join(", ")) : t("Nobody else uses the memory.")}</p>
      </section>`;
  }
}

function quantile(values, share) {
  const sorted = values.filter((one) => one !== null).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : null;
}

const BEHIND = 25; // recalls that a running percentile looks back over

function Speed({ speed: { at, recall, wait } }) {
  const running = (share) => recall.map((_, place) => quantile(recall.slice(Math.max(0, place - BEHIND), place + 1), share));
  const [half, most] = [0.5, 0.95].map((share) => quantile(recall, share).toFixed(1));
  const label = t("The last {0} recalls: half took less than {1} milliseconds, 95 in 100 less than {2}", at.length, half, most);
  const ends = [at[0], at.at(-1)].map((one) => when(new Date(one * 1000).toISOString()));
  return html`<${Chart} ends=${ends} label=${label} unit=" ms" series=${[
    { name: t("recall"), kind: "dots", values: recall },
    { name: "p50", kind: "began curve", values: running(0.5) },
    { name: "p95", kind: "ended curve", values: running(0.95) },
    { name: t("wait"), kind: "waited curve", values: wait },
  ]} />`;
}
