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

let isAway = false; // nobody has answered: until the engine has proved that it is back, it is told nothing

const AWAY = "The engine is away; trying again.";
const LOST = "This page has lost its access, as it does when the engine was away for long. Run “reverie page” again.";

/** Call a tool; a failure is thrown with the sentence that says what to try. */
export async function call(name, given = {}) {
  if (isAway) throw new Failure(0, "Offline", AWAY);
  let answer;
  try {
    answer = await fetch(`/api/v1/${name}`, {
      method: "POST",
      headers: headers({ "Content-Type": "application/json" }),
      body: JSON.stringify(given),
    });
  } catch {
    isAway = true;
    throw new Failure(0, "Offline", AWAY);
  }
  if (answer.status === 401) throw new Failure(401, "NoAccess", LOST);
  const body = await answer.json().catch(() => ({ error: "Unreadable", message: `${name} was answered with ${answer.status}.` }));
  if (!answer.ok) throw new Failure(answer.status, body.error, body.message);
  return body;
}

const PAUSE = 1500;
const wait = (time) => new Promise((done) => setTimeout(done, time));

/** Listen to events for good, connecting again whenever the connection ends. */
export async function listen(heard) {
  for (;;) {
    try {
      const answer = await fetch("/api/v1/events", { headers: headers() });
      if (!answer.ok) throw new Failure(answer.status, "NoEvents", "");
      heard({ event: "connected" });
      await read(answer.body.pipeThrough(new TextDecoderStream()).getReader(), heard);
    } catch {
      // The next step finds out what is wrong.
    }
    isAway = true;
    heard({ event: "disconnected" });
    for (let state = await whoAnswers(); state !== "ours"; state = await whoAnswers()) {
      if (state === "lost") heard({ event: "lost", message: LOST });
      await wait(PAUSE);
    }
    isAway = false;
  }
}

const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Ask whoever answers on our port to prove that it knows our key: another program may have taken the port. */
async function whoAnswers() {
  try {
    const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
    const answer = await fetch(`/api/v1/still-here?nonce=${nonce}`);
    if (answer.status === 401) return "lost";
    const text = new TextEncoder();
    const digest = await crypto.subtle.digest("SHA-256", text.encode(localStorage.getItem(KEY) ?? ""));
    const key = await crypto.subtle.importKey("raw", digest, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const proof = hex(await crypto.subtle.sign("HMAC", key, text.encode(`${nonce}:${location.port}`)));
    return (await answer.json()).proof === proof ? "ours" : "nobody";
  } catch {
    return "nobody";
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
