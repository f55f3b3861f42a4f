// Calls of the API and the stream of events. The key is kept for this origin alone; the cookie goes with each request.

const KEY = "reverie-key";

/** Take the key from the address, where the link put it, and clear it from there. */
export function takeKey() {
  const given = /^#key=([\w-]+)$/.exec(location.hash);
  if (given) {
    localStorage.setItem(KEY, given[1]);
    history.replaceState(null, "", "/#/memories");
  }
}

export class Failure extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

function headers(more = {}) {
  return { "X-Reverie-Key": localStorage.getItem(KEY) ?? "", ...more };
}

/** Call a tool; a failure is thrown with the sentence that says what to try. */
export async function call(name, given = {}) {
  let answer;
  try {
    answer = await fetch(`/api/v1/${name}`, {
      method: "POST",
      headers: headers({ "Content-Type": "application/json" }),
      body: JSON.stringify(given),
    });
  } catch {
    throw new Failure(0, "Offline", "Reverie does not answer. Its engine may have ended: run “reverie page” again.");
  }
  if (answer.status === 401) {
    throw new Failure(401, "NoAccess", "This page has lost its access, as after an engine restarts. Run “reverie page” again.");
  }
  const body = await answer.json().catch(() => ({ error: "Unreadable", message: `${name} was answered with ${answer.status}.` }));
  if (!answer.ok) throw new Failure(answer.status, body.error, body.message);
  return body;
}

const PAUSE = 2000;

/** Listen to events for good, connecting again whenever the connection ends. */
export async function listen(heard) {
  for (;;) {
    try {
      const answer = await fetch("/api/v1/events", { headers: headers() });
      if (!answer.ok) throw new Failure(answer.status, "NoEvents", "");
      heard({ event: "connected" });
      await read(answer.body.pipeThrough(new TextDecoderStream()).getReader(), heard);
    } catch {
      // What the page asks for next will say what is wrong.
    }
    heard({ event: "disconnected" });
    await new Promise((done) => setTimeout(done, PAUSE));
  }
}

async function read(reader, heard) {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").find((line) => line.startsWith("data: "));
      if (data) heard(JSON.parse(data.slice(6)));
    }
  }
}
