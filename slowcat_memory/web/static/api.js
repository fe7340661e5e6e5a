// What the page asks of the server, and the events that come from it.

export class Failure extends Error {}

async function answer(response) {
  let found = null;
  try {
    found = await response.json();
  } catch {
    // not ours: the command has ended, or something else answers on this port
  }
  if (!response.ok || found === null) throw new Failure(found?.error ?? "The page got no answer.");
  return found;
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(`/api/${path}`, options);
  } catch {
    throw new Failure("The page's command has ended. Start `slowcat-memory ui` again.");
  }
  return answer(response);
}

export function read(path, given = {}) {
  const wanted = Object.entries(given).filter(([, value]) => value !== "" && value !== false && value != null);
  const query = new URLSearchParams(wanted.map(([name, value]) => [name, value === true ? "1" : String(value)]));
  return ask(wanted.length ? `${path}?${query}` : path);
}

export function change(path, given = {}) {
  return ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Slowcat": "page" },
    body: JSON.stringify(given),
  });
}

// Calls `heard` with each event, at most a few times a second; with null when events were missed.
export function listen(heard, state) {
  const source = new EventSource("/api/events");
  source.onopen = () => state(true);
  source.onerror = () => state(false);
  source.onmessage = (message) => heard(JSON.parse(message.data));
  source.addEventListener("again", () => heard(null));
  return () => source.close();
}
