// Is it well?

import { Component, Empty, View, bytes, html, many, when } from "./parts.js";
import { change, read } from "./api.js";

const SIGNS = { fine: "✓", note: "·", wrong: "✗" };

export default class Health extends View {
  state = { found: null, process: null, speed: null, checks: null, doing: "", error: "" };

  componentDidMount() {
    super.componentDidMount();
    this.load();
  }

  // The counts cost the memory's process some work: they are read when the view is opened.
  async hear(event) {
    if (event && event.what !== "recalled") return;
    try {
      this.setState({ speed: await read("health/speed") });
    } catch (error) {
      this.setState({ error: error.message });
    }
  }

  async load() {
    try {
      const [found, speed] = [await read("health"), await read("health/speed")];
      this.setState({ found, speed, error: "" });
      this.setState({ process: await read("health/process") });
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
    this.order("Copying and checking the copy …", async () => {
      const made = await change("backup");
      this.load();
      return `Backed up and checked: ${bytes(made.bytes)}.`;
    });
  }

  doctor() {
    this.order("Checking …", async () => {
      const { rows } = await read("health/doctor");
      this.setState({ checks: rows });
      return many(rows.filter((one) => one.state === "wrong").length, "thing is wrong", "things are wrong");
    });
  }

  render(_, { found, process, speed, checks, doing, error }) {
    if (error) return html`<p class="error" role="alert">${error}</p>`;
    if (!found) return html`<p class="quiet wait">Reading …</p>`;
    return html`
      <section aria-label="Speed"><h2>Speed</h2>
        ${speed?.at.length > 1 ? html`<${Plot} speed=${speed} />` : html`<${Empty}>No recalls on record yet.<//>`}
        <${Latency} rows=${process?.latency_ms ?? {}} />
      </section>
      <section aria-label="Checks"><h2>Checks and backups</h2>
        <div class="verbs">
          <button class="main" onClick=${() => this.backUp()}>Back up</button>
          <button onClick=${() => this.doctor()}>Run the doctor</button>
        </div>
        <p role="status">${doing}</p>
        ${checks && html`<ul class="checks">${checks.map((one) => html`<li key=${one.what + one.found} class=${one.state}>
          <span class="sign" role="img" aria-label=${one.state}>${SIGNS[one.state]}</span> <b>${one.what}</b>: ${one.found}${one.hint && html` <span class="meta">${one.hint}</span>`}
        </li>`)}</ul>`}
        ${found.backups.length
          ? html`<ul class="plain">${found.backups.map((one) => html`<li key=${one.at}>${when(one.at, "minute")}, ${bytes(one.bytes)}</li>`)}</ul>`
          : html`<p class="quiet">No backups yet.</p>`}
      </section>
      <section aria-label="Size"><h2>Size</h2>
        <p>${bytes(found.disk_bytes)} on disk · ${found.embedding}${process?.unsaved ? ` · ${many(process.unsaved, "turn")} not saved yet` : ""}</p>
        <ul class="plain">${Object.entries(found.counts).map(([name, n]) => html`<li key=${name}>${n.toLocaleString("en")} ${name}</li>`)}</ul>
      </section>
      <section aria-label="Connected"><h2>Connected</h2>
        <p>${found.others.length ? `Also in use by ${found.others.join(", ")}.` : "Nobody else uses the memory."}</p>
        <p class="quiet">slowcat_memory ${found.version}</p>
      </section>`;
  }
}

function Latency({ rows }) {
  const known = Object.entries(rows);
  if (!known.length) return null;
  return html`<div class="wide-table" tabindex="0" role="region" aria-label="Milliseconds since the start"><table>
    <thead><tr><th scope="col">Milliseconds since the start</th><th scope="col" class="number">n</th><th scope="col" class="number">p50</th><th scope="col" class="number">p95</th><th scope="col" class="number">p99</th></tr></thead>
    <tbody>${known.map(([name, one]) => html`<tr key=${name}><th scope="row">${name.replaceAll("_", " ")}</th>
      <td class="number">${one.n}</td><td class="number">${one.p50.toFixed(2)}</td><td class="number">${one.p95.toFixed(2)}</td><td class="number">${one.p99.toFixed(2)}</td></tr>`)}</tbody>
  </table></div>`;
}

// Loads the plotting library once, when the first plot is drawn.
let plotting = null;
function plotter() {
  plotting ??= new Promise((done, failed) => {
    const style = document.createElement("link");
    Object.assign(style, { rel: "stylesheet", href: "/static/vendor/uplot/uPlot.min.css" });
    const script = document.createElement("script");
    Object.assign(script, { src: "/static/vendor/uplot/uPlot.iife.min.js", onload: () => done(window.uPlot), onerror: failed });
    document.head.append(style, script);
  });
  return plotting;
}

function quantile(values, share) {
  const sorted = values.filter((one) => one !== null).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : null;
}

const BEHIND = 25; // recalls that a running percentile looks back over

class Plot extends Component {
  componentDidMount() {
    this.draw();
  }

  componentDidUpdate() {
    this.draw();
  }

  componentWillUnmount() {
    this.plot?.destroy();
    this.gone = true;
  }

  async draw() {
    const Plotter = await plotter();
    if (this.gone) return;
    const { at, recall, wait } = this.props.speed;
    const order = at.map((_, place) => place + 1);
    const running = (share) => recall.map((_, place) => quantile(recall.slice(Math.max(0, place - BEHIND), place + 1), share));
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
    const options = {
      width: this.box.clientWidth,
      height: 220,
      scales: { x: { time: false } },
      axes: [{ ...axis, values: (_, ticks) => ticks.map((one) => (at[one - 1] ? when(new Date(at[one - 1] * 1000).toISOString()) : "")), space: 90 }, { ...axis, size: 46, values: (_, ticks) => ticks.map((one) => `${one} ms`) }],
      series: [
        { label: "recall", value: (_, place) => (place ? String(place) : "–") },
        { label: "ms", stroke: "#8a8f98", width: 0, points: { show: true, size: 4, fill: "#8a8f98" } },
        { label: "p50", stroke: "#2a7f86", width: 2 },
        { label: "p95", stroke: "#b5562b", width: 2 },
        { label: "wait", stroke: "#6b5ca5", width: 1 },
      ],
    };
    this.plot?.destroy();
    this.plot = new Plotter(options, [order, recall, running(0.5), running(0.95), wait], this.box);
  }

  render({ speed }) {
    const half = quantile(speed.recall, 0.5);
    const most = quantile(speed.recall, 0.95);
    return html`<div class="plot" ref=${(box) => (this.box = box)} role="img"
      aria-label=${`The last ${speed.at.length} recalls: half took less than ${half.toFixed(1)} milliseconds, 95 in 100 less than ${most.toFixed(1)}`}></div>`;
  }
}
