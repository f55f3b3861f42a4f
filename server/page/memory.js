// One memory: its text, evidence, curve, lineage and history, and what can be done with it.

import { call } from "./api.js";
import { day, el, percent, shortId, when } from "./dom.js";
import { bars, curveChart, meter } from "./charts.js";
import { attempt, edit, facts, forget, move, nameOf, pin, purge, restore, undoEvent } from "./ui.js";

const FRESH = {
  verified: "unchanged since it was seen", changed: "the code has changed since", moved: "moved to", missing: "no longer there",
  unverifiable: "cannot be checked from here", unanchored: "",
};
const LINEAGE = { derived_from: "Made from", supersedes: "Replaces", superseded_by: "Replaced by", derived: "Led to" };
const QUIET = new Set(["updated_at", "content_hash", "embedder", "precision", "id", "search_text"]);

export const title = "Memory";

export async function show(main, { rest, go }) {
  const id = decodeURIComponent(rest);
  const [{ memories: [memory] }, curve] = await Promise.all([call("inspect", { ids: [id] }), call("curve", { id })]);
  document.title = `${nameOf(memory).slice(0, 60)} – Reverie`;
  const again = () => window.dispatchEvent(new Event("again"));
  const does = (work) => () => attempt(async () => { if (await work() !== false) again(); });
  const living = memory.status === "active" || memory.status === "challenged";
  const actions = el("div", { class: "actions", role: "group", "aria-label": "Change this memory" },
    living ? [
      el("button", { "data-key": "e", onclick: () => attempt(async () => { const next = await edit(memory); if (next) go(`#/memory/${encodeURIComponent(next)}`); }) }, "Edit"),
      el("button", { "data-key": "p", "aria-pressed": String(memory.pinned), onclick: does(() => pin(memory, !memory.pinned)) }, memory.pinned ? "Unpin" : "Pin"),
      memory.layer === "codebase" ? null : [
        el("button", { onclick: does(() => move(memory, "promote")) }, "Promote"),
        el("button", { onclick: does(() => move(memory, "demote")) }, "Demote")],
      el("button", { "data-key": "f", onclick: does(() => forget([memory])) }, "Forget"),
    ] : memory.status === "quarantined" ? el("a", { class: "button", href: "#/questions" }, "Decide in Questions")
      : el("button", { class: "primary", onclick: () => restore([memory.id]) }, "Restore"),
    el("button", { class: "danger", onclick: () => attempt(async () => { if (await purge([memory])) go("#/memories"); }) }, "Purge…"));
  const headed = memory.title && !memory.content.startsWith(memory.title.replace(/[ .…]+$/, ""));
  main.append(
    el("p", { class: "crumb" }, el("a", { href: "#/memories" }, "← Memories")),
    el("article", { class: "memory" },
      el("h1", { class: headed ? "headline" : "sr" }, headed ? memory.title : `Memory ${memory.id.slice(0, 8)}`),
      el("p", { class: "content" }, memory.content),
      facts(memory, [shortId(memory.id)]),
      memory.status_reason ? el("p", { class: "reason" }, memory.status_reason) : null,
      actions),
    el("div", { class: "two" },
      el("section", { "aria-labelledby": "fading" }, el("h2", { id: "fading" }, "How it fades"), curveChart(curve),
        el("ul", { class: "horizons" }, ["now", "30", "90", "365"].map((at) =>
          el("li", {}, meter(memory.retention[at], "retention"), el("strong", {}, percent(memory.retention[at])), el("span", { class: "quiet" }, at === "now" ? "now" : `in ${at} days`))))),
      el("section", { "aria-labelledby": "evidence" }, el("h2", { id: "evidence" }, "Evidence"), evidence(memory),
        el("h2", {}, "Where it comes from"), provenance(memory), lineage(memory))),
    el("div", { class: "two" },
      el("section", {}, el("h2", {}, `Importance: ${memory.composite_importance.toFixed(2)}`),
        el("p", { class: "quiet" }, "Nine factors, each with its share."),
        bars(Object.fromEntries(memory.factors.map((one) => [one.name, Number(one.share.toFixed(3))])), "Factors of importance")),
      el("section", {}, el("h2", {}, "History"), history(memory, again))));
}

/** The anchors of a memory, each beside the code: unchanged, with the difference, moved with an arrow, or missing. */
function evidence(memory) {
  if (!memory.anchors.length) return el("p", { class: "quiet" }, "It names nothing in the code.");
  const list = el("ul", { class: "anchors" }, memory.anchors.map((anchor) => anchored(anchor, null)));
  // Git is asked for the text of then: the page does not wait for it.
  attempt(async () => {
    const found = await call("evidence", { id: memory.id });
    list.replaceChildren(...found.anchors.map((anchor) => anchored(anchor, code(anchor))));
  });
  return list;
}

function anchored(anchor, beside) {
  const to = anchor.freshness === "moved" ? el("span", { class: "arrow" }, el("span", { "aria-hidden": "true" }, "→ "), el("span", { class: "sr" }, "moved to "), el("code", {}, anchor.now_at ?? "elsewhere")) : null;
  return el("li", { class: anchor.freshness },
    el("code", {}, anchor.symbol ? `${anchor.path}::${anchor.symbol}` : anchor.path),
    anchor.span?.length ? el("span", { class: "quiet" }, ` lines ${anchor.span[0]}–${anchor.span[1]}`) : null,
    to, el("span", { class: "fresh" }, to ? "moved" : FRESH[anchor.freshness] ?? anchor.freshness),
    anchor.note && !to ? el("span", { class: "quiet" }, anchor.note) : null, beside);
}

const SIGNS = { same: " ", gone: "−", new: "+", skipped: "…" };
const SPOKEN = { gone: "before: ", new: "now: " };

/** The code as it was and is, line by line. */
function code(anchor) {
  const about = anchor.kept === "not kept" ? "The text seen then is not kept: it was never committed, or git no longer has it. This is the code now."
    : anchor.kept === "kept" && anchor.freshness === "missing" ? "As it was seen then." : anchor.why ? `Not shown: ${anchor.why}.` : "";
  if (!anchor.lines.length) return about ? el("p", { class: "quiet small full" }, anchor.kept === "not kept" ? "The text seen then is not kept." : about) : null;
  return el("details", { class: "code full", open: anchor.freshness !== "verified" },
    el("summary", {}, { verified: "The code", changed: "What changed", moved: "Where it is now", missing: "What it said" }[anchor.freshness] ?? "The code"),
    about ? el("p", { class: "quiet small" }, about) : null,
    el("pre", { class: "difference", tabindex: 0, "aria-label": `Code of ${anchor.path}` }, anchor.lines.map((line) => line.kind === "skipped"
      ? el("span", { class: "line skipped" }, `… ${line.text} lines …\n`)
      : el("span", { class: `line ${line.kind}` }, el("span", { class: "at", "aria-hidden": "true" }, `${String(line.before ?? "").padStart(4)} ${String(line.after ?? "").padStart(4)} ${SIGNS[line.kind]} `),
        SPOKEN[line.kind] ? el("span", { class: "sr" }, SPOKEN[line.kind]) : null, `${line.text}\n`))));
}

function provenance(memory) {
  const parts = {
    Source: `${memory.source}${memory.source_ref ? `, ${memory.source_ref}` : ""}, trust ${memory.trust}`,
    Written: day(memory.created_at), "Last used": memory.last_accessed_at ? day(memory.last_accessed_at) : "never",
    Recalls: String(memory.access_count), Confirmations: memory.confirmed_by.join(", ") || "none", Strength: `${memory.strength.toFixed(2)}, ${memory.strength_word}`,
  };
  return el("dl", { class: "parts table" }, Object.entries(parts).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function lineage(memory) {
  const related = Object.entries(memory.lineage).filter(([, ids]) => ids.length);
  if (!related.length) return null;
  return el("dl", { class: "parts table" }, related.map(([name, ids]) => el("div", {}, el("dt", {}, LINEAGE[name] ?? name),
    el("dd", {}, ids.map((id) => el("a", { href: `#/memory/${encodeURIComponent(id)}` }, shortId(id), " "))))));
}

function history(memory, again) {
  if (!memory.events.length) return el("p", { class: "quiet" }, "Nothing happened to it since it was written.");
  return el("ol", { class: "history" }, [...memory.events].reverse().map((event) => {
    const changed = Object.keys(event.after ?? {}).filter((name) => !QUIET.has(name) && name in (event.before ?? {}));
    const values = (from, to) => changed.length ? el("dl", { class: "change" }, changed.map((name) => el("div", {}, el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, el("del", {}, written(from[name])), " → ", el("ins", {}, written(to[name])))))) : null;
    const undo = () => attempt(async () => {
      const shown = [el("p", {}, `${event.action} by ${event.actor}, ${day(event.at)}`), values(event.after, event.before) ?? el("p", { class: "quiet" }, "It goes back to how it was before.")];
      if (await undoEvent(event.id, shown)) again();
    });
    return el("li", {}, el("p", {}, el("strong", {}, event.action), ` by ${event.actor}, `, when(event.at), event.reason ? ` – ${event.reason}` : ""),
      values(event.before, event.after),
      event.action === "remembered" ? null : el("button", { class: "plain", onclick: undo }, "Undo"));
  }));
}

export function written(value) {
  if (value === null || value === undefined || value === "") return "nothing";
  if (Array.isArray(value)) return value.length ? value.map((one) => (typeof one === "object" ? JSON.stringify(one) : String(one))).join(", ").slice(0, 300) : "nothing";
  return typeof value === "object" ? JSON.stringify(value).slice(0, 300) : String(value).slice(0, 300);
}
