// A small picture of numbers over time, as SVG: bars, lines and dots over the same places.

import { amount, html, t } from "./parts.js";

const [WIDE, HIGH] = [720, 160];

// `series` are {name, kind, values}: the kind is a class of the style sheet, a value below 0 hangs
// from the axis, null leaves a gap. `ends` are the words under the first and the last place.
export function Chart({ label, ends, series, unit = "" }) {
  const every = series.flatMap((one) => one.values).filter((one) => one !== null);
  const [most, least] = [Math.max(...every, 1), Math.min(...every, 0)];
  const places = Math.max(...series.map((one) => one.values.length));
  const x = (place) => ((place + 0.5) / places) * WIDE;
  const y = (value) => ((most - value) / (most - least)) * HIGH;
  const step = WIDE / places;
  const drawn = ({ kind, values }) => {
    const points = values.map((value, place) => [x(place), value]).filter(([, value]) => value !== null);
    if (kind.includes("curve")) return html`<polyline points=${points.map(([at, value]) => `${at},${y(value)}`).join(" ")} />`;
    if (kind === "dots") return points.map(([at, value]) => html`<circle cx=${at} cy=${y(value)} r="2" />`);
    const wide = Math.min(step, 32) * (kind === "wide" ? 0.8 : 0.4);
    return points.filter(([, value]) => value).map(([at, value]) => html`<rect x=${at - wide / 2} width=${wide}
      y=${y(Math.max(value, 0))} height=${y(Math.min(value, 0)) - y(Math.max(value, 0))} />`);
  };
  return html`<figure class="chart">
    <svg viewBox=${`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${series.map((one) => html`<g class=${one.kind}>${drawn(one)}</g>`)}
      <line x1="0" x2=${WIDE} y1=${y(0)} y2=${y(0)} />
    </svg>
    <div class="ends quiet"><span>${ends[0]}</span><span>${ends[1]}</span></div>
    <figcaption class="meta">
      ${series.map((one) => html`<span class=${one.kind}>${one.name}</span>`)}
      <span>${t("up to {0}", amount(Math.round(most * 10) / 10) + unit)}</span>
    </figcaption>
  </figure>`;
}
