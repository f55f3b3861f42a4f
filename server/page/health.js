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
    "On disk": `${(status.disk_bytes / 1e6).toFixed(1)} MB`, "Last dream": status.last_dream ?? "none yet",
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
  const checks = el("div", { class: "checks" }, el("p", { class: "quiet", role: "status" }, "Examining…"));
  const audit = el("div", {}, el("button", { onclick: () => attempt(() => audited(audit)) }, "Audit the journal"), el("span", { class: "quiet" }, " proves that nothing was tampered with"));
  main.append(el("h2", {}, "Doctor"), checks, el("h2", {}, "Audit"), audit, el("h2", {}, "Sweep"),
    el("p", {}, el("button", { onclick: () => attempt(swept) }, "Sweep now"), el("span", { class: "quiet" }, " expires and moves what is due; it also runs by itself every five minutes")));
  const found = await attempt(() => call("doctor", {}));
  checks.replaceChildren(found ? el("ul", { class: "checks" }, found.checks.map((check) => el("li", { class: check.state },
    el("span", { class: "state" }, { ok: "ok", warn: "look", fail: "fails" }[check.state]), el("strong", {}, check.name), el("span", {}, check.found),
    check.advice && check.state !== "ok" ? el("p", { class: "quiet" }, `→ ${check.advice}`) : null))) : el("p", {}, "The examination failed."));
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

async function audited(place) {
  place.replaceChildren(el("p", { class: "quiet", role: "status" }, "Following the chain…"));
  const found = await call("audit", {});
  place.replaceChildren(found.intact
    ? el("p", { class: "verdict ok", role: "status" }, `Intact: ${found.events.toLocaleString("en")} events, each linked to the one before, and ${found.memories.toLocaleString("en")} memories as the last event left them.`)
    : el("div", { class: "verdict fail", role: "status" }, el("p", {}, "The store was tampered with:"), el("ul", {}, found.faults.map((fault) => el("li", {}, fault)))));
  place.append(el("p", { class: "quiet" }, "Last link ", el("code", {}, found.head)));
}

async function swept() {
  const done = await call("sweep", {});
  const gone = Object.values(done.expired).flat().length;
  const moved = Object.values(done.moved).flat().length;
  say(gone || moved ? `${gone} let go, ${moved} moved.` : "Nothing was due.");
}
