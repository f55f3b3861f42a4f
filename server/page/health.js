// How the store is doing.

import { call } from "./api.js";
import { el, when } from "./dom.js";
import { bars, columns, strip } from "./charts.js";
import { attempt, say } from "./ui.js";

export const title = "Health";

export async function show(main) {
  const [status, overview, health] = await Promise.all([call("status", {}), call("overview", {}), call("health", {})]);
  main.append(el("h1", {}, "Health"));
  const facts = {
    Engine: `${status.engine}${health.engine.memory_bytes ? `, ${megabytes(health.engine.memory_bytes)} of memory` : ""}`, Version: status.version, Store: status.home, Domain: status.domain, Embedder: status.embedder,
    Recall: status.index_state === "ready" ? "by meaning and words" : status.index_state.replaceAll("_", " "),
    "On disk": `${(status.disk_bytes / 1e6).toFixed(1)} MB`, "Last dream": lastDream(status.last_dream),
  };
  main.append(status.health.length ? el("ul", { class: "warnings" }, status.health.map((line) => el("li", {}, line))) : el("p", { class: "lead" }, "Nothing needs your attention."),
    el("dl", { class: "parts table wide" }, Object.entries(facts).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
  main.append(el("div", { class: "two" },
    el("section", {}, el("h2", {}, "By layer"), bars(overview.layers, "Memories by layer"), el("h2", {}, "By status"), bars(overview.statuses, "Memories by status")),
    el("section", {}, el("h2", {}, "Growth"), columns(withGaps(overview.months), "Memories by month"), el("h2", {}, "Bits per number of a vector"), bars(overview.precisions, "Memories by precision"))));
  main.append(el("div", { class: "two" },
    el("section", { "aria-labelledby": "recalls" }, el("h2", { id: "recalls" }, "Recall times"), recalls(health.recall),
      el("h2", {}, "On disk by layer"), bars(Object.fromEntries(Object.entries(health.bytes).map(([name, size]) => [name, Math.round(size / 1e5) / 10])), "Megabytes on disk"), el("p", { class: "quiet small" }, "Megabytes, with versions and indexes.")),
    el("section", { "aria-labelledby": "hooks" }, el("h2", { id: "hooks" }, "Hooks"), hooks(health.hooks))));
  const doctor = el("div", { id: "doctor" });
  const audit = el("div", { id: "audit" });
  main.append(el("h2", {}, "Doctor"), doctor, el("h2", {}, "Audit"), audit, el("h2", {}, "Sweep"),
    el("p", {}, el("button", { onclick: () => attempt(swept) }, "Sweep now"), el("span", { class: "quiet" }, " expires and moves what is due; it also runs by itself every five minutes")));
  drawn(doctor, audit, await call("checks", { start: ["doctor"], older_than: DOCTOR_MINUTES }));
  if (!hasStarted) {
    hasStarted = true; // once per visit: an audit of a large store takes some seconds of the machine
    drawn(doctor, audit, await call("checks", { start: ["audit"], older_than: AUDIT_MINUTES }));
  }
}

const DOCTOR_MINUTES = 10;
const AUDIT_MINUTES = 24 * 60;
let hasStarted = false;
let isAsking = false;
let hasMore = false;

/** A check that runs behind the page has come further, or has ended: show how far, or what it found. */
export async function heard(event) {
  if (event.call !== "checks" || !document.getElementById("doctor")) return;
  hasMore = true;
  if (isAsking) return;
  isAsking = true;
  while (hasMore) {
    hasMore = false;
    const found = await call("checks", {}).catch(() => null);
    const doctor = document.getElementById("doctor");
    if (found && doctor) drawn(doctor, document.getElementById("audit"), found);
  }
  isAsking = false;
}

function drawn(doctor, audit, found) {
  doctor.replaceChildren(
    state(found.doctor, "doctor", "Examine again"),
    found.diagnosis ? el("ul", { class: "checks" }, found.diagnosis.checks.map((check) => el("li", { class: check.state },
      el("span", { class: "state" }, { ok: "ok", warn: "look", fail: "fails" }[check.state]), el("strong", {}, check.name), el("span", {}, check.found),
      check.advice && check.state !== "ok" ? el("p", { class: "quiet" }, `→ ${check.advice}`) : null))) : "");
  audit.replaceChildren(state(found.audit, "audit", "Audit the journal"), ...(found.audited ? verdict(found.audited) : []));
}

/** How far a check is, or when it was last done, and a button to do it again. */
function state(check, name, action) {
  const start = () => attempt(async () => {
    const found = await call("checks", { start: [name] });
    drawn(document.getElementById("doctor"), document.getElementById("audit"), found);
  });
  if (check.running) return el("p", { class: "check-state", role: "status" }, el("progress", { max: 1, value: check.share, "aria-label": `Progress of the ${name}` }), el("span", { class: "quiet" }, `${check.doing}…`));
  return el("p", { class: "check-state" }, el("button", { onclick: start }, action),
    check.failure ? el("span", { class: "verdict fail" }, check.failure) : null,
    check.at ? el("span", { class: "quiet" }, "last done ", when(check.at), `, in ${check.seconds.toFixed(1)} s`) : el("span", { class: "quiet" }, name === "audit" ? "proves that nothing was tampered with" : "not done since the engine started"));
}

function verdict(found) {
  return [found.intact
    ? el("p", { class: "verdict ok" }, `Intact: ${found.events.toLocaleString("en")} events, each linked to the one before, and ${found.memories.toLocaleString("en")} memories as the last event left them.`)
    : el("div", { class: "verdict fail" }, el("p", {}, "The store was tampered with:"), el("ul", {}, found.faults.map((fault) => el("li", {}, fault)))),
    el("p", { class: "quiet small" }, "Last link ", el("code", {}, found.head))];
}

/** The last dream as a link; `status` writes it as “ID at MOMENT (STATE)”. */
function lastDream(said) {
  const parts = /^(\S+) at (\S+) \((.*)\)$/.exec(said ?? "");
  return parts ? [el("a", { href: `#/nights/${encodeURIComponent(parts[1])}` }, when(parts[2])), parts[3] === "done" ? "" : `, ${parts[3]}`] : said ?? "none yet";
}

const megabytes = (size) => `${(size / 1e6).toFixed(1)} MB`;

function recalls(times) {
  if (!times.count) return el("p", { class: "quiet" }, "No assistant has recalled anything since this engine started. A search on this page does not count.");
  return [strip(times.milliseconds.slice(-120), times.p95), el("p", { class: "quiet" },
    `Half of the last ${times.count.toLocaleString("en")} took up to ${times.p50.toFixed(0)} ms, one in twenty longer than ${times.p95.toFixed(0)} ms.`)];
}

function hooks(runs) {
  if (!runs.length) return el("p", { class: "quiet" }, "No hook ever ran here. “reverie setup” puts them into a client.");
  return el("ul", { class: "checks" }, runs.map((run) => el("li", { class: run.outcome.startsWith("failed") ? "fail" : "ok" },
    el("strong", {}, run.event), el("span", {}, run.client), when(run.at), el("span", {}, `${run.ms} ms`), el("span", { class: "quiet" }, run.outcome))));
}

/** Put in the months in which nothing was written. */
function withGaps(months) {
  const names = Object.keys(months);
  if (!names.length) return months;
  const filled = {};
  const last = names[names.length - 1];
  for (let [year, month] = names[0].split("-").map(Number); ; month === 12 ? (year++, (month = 1)) : month++) {
    const name = `${year}-${String(month).padStart(2, "0")}`;
    filled[name] = months[name] ?? 0;
    if (name >= last) return filled;
  }
}

async function swept() {
  const done = await call("sweep", {});
  const gone = Object.values(done.expired).flat().length;
  const moved = Object.values(done.moved).flat().length;
  say(gone || moved ? `${gone} expired, ${moved} moved.` : "Nothing was due.");
}
