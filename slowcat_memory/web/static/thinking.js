// What are you thinking?

import { Empty, Paged, View, amount, html, many, t, when } from "./parts.js";
import { change, read } from "./api.js";

const OUTCOMES = {
  done: "done",
  retry: "will be tried again",
  dead: "given up",
  interrupted: "interrupted: somebody spoke",
  away: "the model's server did not answer",
};

export default class Thinking extends View {
  reload() {
    this.work?.load();
    this.rejected?.load();
  }

  render(props) {
    return html`
      <${Work} ...${props} mounted=${(one) => (this.work = one)} />
      <${Rejected} ...${props} mounted=${(one) => (this.rejected = one)} />`;
  }
}

class Work extends Paged {
  async fetchPage(before) {
    const got = await read("thinking/work", { scope: this.props.scope, before });
    return { rows: got.rows, next: got.before || "", extra: got };
  }

  async order(path, given, words) {
    this.setState({ doing: words });
    try {
      const found = await change(path, given);
      this.setState({ doing: found.left ? t("{0} left.", many(found.left, "task")) : "", ...("paused" in found && { paused: found.paused }) });
    } catch (error) {
      this.setState({ doing: error.message });
    }
    this.load();
  }

  render(_, { rows, extra, doing, paused }) {
    const waiting = Object.entries(extra?.waiting ?? {});
    return html`<section aria-label="Idle work">
      <h2>Waiting</h2>
      ${extra && html`<p>${waiting.length ? waiting.map(([job, n]) => `${t(job.replaceAll("_", " "))} ${amount(n)}`).join(", ") : t("Nothing waits.")}</p>`}
      ${extra && !extra.llm && html`<p class="quiet">No model is configured for thinking: only the work by rules is done.</p>`}
      <div class="verbs">
        <button class="main" onClick=${() => this.order("think", {}, t("Working …"))}>Run now</button>
        ${paused
          ? html`<button onClick=${() => this.order("pause", { on: false }, "")}>Go on</button>`
          : html`<button onClick=${() => this.order("pause", { on: true }, "")}>Stop</button>`}
        <button onClick=${() => this.order("retry", {}, "")}>Retry what was given up</button>
      </div>
      <p role="status">${doing || (paused ? t("Stopped until you let it go on, or close the page's command.") : "")}</p>
      <h2>Done lately</h2>
      ${extra && rows.length > 0 && html`<p class="meta">${t("The steps shown took {0} s and {1}.", (extra.ms / 1000).toFixed(1), many(extra.tokens, "token"))}</p>`}
      ${rows && rows.length > 0 && html`<div class="wide-table" tabindex="0" role="region" aria-label="Steps"><table>
        <thead><tr><th scope="col">When</th><th scope="col">What</th><th scope="col">Result</th><th scope="col" class="number">ms</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Made</th></tr></thead>
        <tbody>${rows.map((one) => html`<tr key=${one.run} class=${one.outcome}>
          <td>${when(one.at, "minute")}</td><td>${t(one.job)}</td>
          <td>${t(OUTCOMES[one.outcome] ?? one.outcome)}${one.error && html`<span class="meta"> ${one.error}</span>`}
            ${one.retry && html` <button class="verb" onClick=${() => this.order("retry", { task: one.task }, "")}>Retry</button>`}</td>
          <td class="number">${one.ms.toFixed(0)}</td><td class="number">${one.tokens || ""}</td><td class="number">${one.made || ""}</td>
        </tr>`)}</tbody>
      </table></div>`}
      ${rows && !rows.length && html`<${Empty}>No idle work was done yet.<//>`}
      ${this.renderMore()}
    </section>`;
  }
}

class Rejected extends Paged {
  async fetchPage(after) {
    const got = await read("thinking/rejected", { scope: this.props.scope, after });
    return { rows: got.rows, next: got.after };
  }

  render(_, { rows }) {
    return html`<section aria-label="Rejected">
      <h2>Rejected</h2>
      <ul class="cards">
        ${(rows ?? []).map((one) => html`<li class="card over" key=${one.id}><p class="words">${one.text}</p><p class="meta">${t(one.reason)} · ${when(one.since)}</p></li>`)}
      </ul>
      ${rows && !rows.length && html`<${Empty}>Nothing was rejected.<//>`}
      ${this.renderMore()}
    </section>`;
  }
}
