// What the page asks of the server, and the events that come from it.

import { t } from "./parts.js";

const RETRY_MS = 3000;

// The key that proves that this page was opened with its address. A cookie would not do: browsers
// send it to every port of this machine, and what is stored here belongs to this port alone.
const KEY = "slowcat";
const keyed = () => ({ "X-Slowcat": localStorage.getItem(KEY) ?? "" });

// Trades the token of the address for a key. A token has then done its work, and does not belong into
// the browser's history.
export async function enter() {
  const token = new URLSearchParams(location.search).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.hash);
  localStorage.setItem(KEY, (await change("enter", { token })).key);
}

async function ask(path, options = {}) {
  const headers = { ...options.headers, ...keyed() };
  const response = await fetch(`/api/${path}`, { ...options, headers }).catch(() => {
    throw new Error(t("The page's command has ended. Start `slowcat-memory ui` again."));
  });
  // No JSON is not ours: the command has ended, or something else answers on this port.
  const found = await response.json().catch(() => null);
  if (!response.ok || found === null) throw new Error(t(found?.error ?? "The page got no answer."));
  return found;
}

export function read(path, given = {}) {
  const wanted = Object.entries(given).filter(([, value]) => value !== "" && value !== false && value != null);
  const query = new URLSearchParams(wanted.map(([name, value]) => [name, value === true ? "1" : String(value)]));
  return ask(wanted.length ? `${path}?${query}` : path);
}

export function change(path, given = {}) {
  return ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(given),
  });
}

// Calls `heard` with each event, at most a few times a second; with null when events were missed.
// An EventSource cannot send the key.
export async function listen(heard, state) {
  for (;;) {
    try {
      const response = await fetch("/api/events", { headers: keyed() });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      state(response.ok);
      for (let rest = "", part; !(part = await reader.read()).done; ) {
        const lines = (rest + part.value).split("\n");
        rest = lines.pop();
        lines.filter(Boolean).forEach((line) => heard(JSON.parse(line)));
      }
    } catch {
      // the connection was lost
    }
    state(false);
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}
