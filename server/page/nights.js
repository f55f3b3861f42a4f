// The nights: each dream as a story and as a difference, what tonight would do, and taking it back.

import { call } from "./api.js";
import { counted, day, el, memories, shortId, when } from "./dom.js";
import { written } from "./memory.js";
import { ask, attempt, say, undoEvent } from "./ui.js";

const STEPS = {
  sweep: "By the clock", forget: "Faded", dedupe: "Said twice", cluster: "Grown together", digest: "The day", peer_cards: "Who and what",
  synthesis: "Connections", beliefs: "Doubts", drift: "Against the code", prune: "Logs",
};
const SHOWN = new Set(["status", "layer", "status_reason", "confidence", "core", "content", "title", "superseded_by", "confirmations", "importance", "tags", "project"]);

export const title = "Nights";

export async function show(main, { rest, go }) {
  if (rest === "tonight") return tonight(main, go);
  if (rest) return night(main, decodeURIComponent(rest), go);
  const found = await call("dreams", { limit: 100 });
  main.append(el("h1", {}, "Nights"), el("p", { class: "lead" }, "Once a day, when nobody works, a dream merges, checks and expires what has faded. Every change can be taken back."),
    el("p", {}, el("a", { class: "button primary", href: "#/nights/tonight" }, "What would tonight do?")));
  main.append(found.dreams.length
    ? el("ol", { class: "rows nights" }, found.dreams.map((dream) => el("li", { class: "row" },
        el("div", { class: "said" }, el("a", { class: "text", href: `#/nights/${encodeURIComponent(dream.id)}` }, `The night of ${day(dream.at)}`),
          el("p", { class: "facts" }, el("span", {}, withoutRounding(dream.summary))), el("p", { class: "facts" }, when(dream.at), dream.status === "done" ? null : el("span", { class: "status" }, dream.status))),
        el("div", { class: "beside" }, el("strong", {}, counted(dream.changes, "change")), dream.questions ? el("span", { class: "quiet small" }, counted(dream.questions, "question")) : null))))
    : el("p", { class: "empty" }, "There has been no dream yet."));
}

async function night(main, id, go) {
  const dream = await call("dream", { id });
  document.title = `The night of ${day(dream.at)} – Reverie`;
  const undo = el("button", { class: "danger", onclick: () => attempt(async () => {
    const plan = await call("undo_plan", { dream_id: dream.id });
    if (!(await ask("Take back the whole night?", el("pre", {}, plan.lines.join("\n")), "Take it back", { danger: true }))) return;
    const done = await call("restore", { dream_id: dream.id });
    say(`Taken back: ${memories(done.restored.length)} as before.`);
    window.dispatchEvent(new Event("again"));
  }) }, "Take back the whole night…");
  main.append(el("p", { class: "crumb" }, el("a", { href: "#/nights" }, "← Nights")), el("h1", {}, `The night of ${day(dream.at)}`),
    el("p", { class: "facts" }, shortId(dream.id), el("span", {}, dream.status), el("span", {}, counted(dream.total_changes, "change")), when(dream.at)));
  const story = dream.steps.flatMap((step) => {
    const done = Object.entries(step.summaries ?? {}).filter(([what]) => !what.startsWith(ROUNDING)).map(([what, times]) => (times > 1 ? `${what} ${times}×` : what));
    const said = [...done, ...step.notes, ...(step.skipped ? [`${step.skipped} set aside`] : [])];
    return said.length ? [el("div", {}, el("dt", {}, STEPS[step.name] ?? step.name), el("dd", {}, said.join("; ")))] : [];
  });
  main.append(story.length ? el("dl", { class: "story" }, story) : el("p", {}, "Nothing had to be done."));
  if (dream.changes.length) {
    const rounded = dream.changes.filter((one) => ROUNDED.has(one.action));
    const groups = together(dream.changes.filter((one) => !ROUNDED.has(one.action)));
    main.append(el("h2", {}, "Before and after"), groups.length ? el("ol", { class: "changes" }, groups.map((group) => changed(group, dream.named))) : "");
    if (dream.total_changes > dream.changes.length) main.append(el("p", { class: "quiet" }, `and ${dream.total_changes - dream.changes.length} more`));
    if (rounded.length) main.append(el("details", { class: "rounded" }, el("summary", {}, `${counted(rounded.length, "vector")} kept with more or fewer bits; no text changed`), el("ol", { class: "changes" }, rounded.map((one) => changed([one], dream.named)))));
    if (dream.status === "done") main.append(el("p", {}, undo));
  }
  if (dream.questions.length) main.append(el("p", {}, el("a", { href: "#/questions" }, `${counted(dream.questions.length, "question")} left for you`)));
}

const ROUNDING = "vectors of ";
const ROUNDED = new Set(["vector packed", "vector unpacked"]);
const ACTIONS = { remembered: "written", duplicate: "merged", inherited: "merged", "ground-gone": "lost its ground" };
const MERGED = new Set(["duplicate", "merged", "inherited"]);

/** What a night did, without the rounding of vectors, which nobody reads. */
function withoutRounding(summary) {
  const parts = summary.split(", ").filter((part) => !part.startsWith(ROUNDING));
  return parts.join(", ") || "only vectors were rounded";
}

/** Put the changes of one merge together: the memories that went into another one, and what became of that one. */
function together(changes) {
  const groups = new Map();
  for (const one of changes) {
    const into = MERGED.has(one.action) ? one.superseded_by ?? one.id : one.id;
    const key = MERGED.has(one.action) || changes.some((other) => MERGED.has(other.action) && other.superseded_by === one.id) ? into : one.event_id;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

function changed(group, named) {
  const merged = group.filter((one) => MERGED.has(one.action) && one.superseded_by);
  return merged.length ? merge(group, merged, named) : change(group[0], named);
}

/** A merge: what was said twice, and what is left of it; taken back as a whole. */
function merge(group, merged, named) {
  const into = merged[0].superseded_by;
  const kept = group.find((one) => one.id === into);
  const text = kept?.content || named[into] || into;
  const link = (id, said) => el("a", { class: "text", href: `#/memory/${encodeURIComponent(id)}` }, said);
  const takeBack = () => attempt(async () => {
    const agreed = await ask("Take back this merge?", [
      el("p", {}, `${counted(merged.length, "memory", "memories")} would be recalled again, as before the night:`),
      el("ul", { class: "going" }, merged.map((one) => el("li", {}, one.content.slice(0, 200))))], "Take it back");
    if (!agreed) return;
    const done = await call("change_many", { action: "undo", ids: group.map((one) => one.event_id).reverse() });
    const left = done.outcomes.find((one) => !one.done);
    say(left ? `Taken back in part: ${left.said}` : "The merge is taken back. No later dream makes it again.");
    window.dispatchEvent(new Event("again"));
  });
  return el("li", { class: "card change-card merge" },
    el("p", {}, el("strong", { class: "action" }, "Merged"), el("span", { class: "quiet" }, ` ${counted(merged.length + (kept?.action === "remembered" ? 0 : 1), "memory", "memories")} that say the same`)),
    el("div", { class: "sides" },
      el("div", {}, el("p", { class: "quiet small" }, "no longer recalled"), merged.map((one) => one.is_gone ? el("p", { class: "quiet" }, "purged since") : el("p", {}, link(one.id, one.content || one.title)))),
      el("div", {}, el("p", { class: "quiet small" }, kept?.action === "remembered" ? "written instead" : "kept"), el("p", {}, link(into, text)))),
    el("button", { onclick: takeBack }, "Take back the merge…"));
}

/** A sentence in which the ids of memories are links with the beginning of their texts. */
function spoken(text, named) {
  return text.split(/([a-z][0-9a-z]{15,16}|code-[0-9a-z]{8,})/).map((part) => part in named
    ? el("a", { href: `#/memory/${encodeURIComponent(part)}`, title: part }, `“${named[part].slice(0, 60)}${named[part].length > 60 ? "…" : ""}”`) : part);
}

function change(one, named) {
  const isNew = one.action === "remembered";
  const names = isNew ? [] : Object.keys(one.after).filter((name) => SHOWN.has(name) && name in one.before && !(name === "status_reason" && one.reason.includes(one.after[name])));
  const values = (from, to) => names.length ? el("dl", { class: "change" }, names.map((name) => el("div", {}, el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, el("del", {}, spoken(written(from[name]), named)), " → ", el("ins", {}, spoken(written(to[name]), named)))))) : null;
  const takeBack = () => attempt(async () => {
    const back = el("div", {}, el("p", {}, (one.content || one.title).slice(0, 300)), isNew ? el("p", {}, "It was written by the dream, and would be forgotten.") : values(one.after, one.before));
    if (await undoEvent(one.event_id, back)) window.dispatchEvent(new Event("again"));
  });
  return el("li", { class: "card change-card" },
    el("p", {}, el("strong", { class: "action" }, ACTIONS[one.action] ?? one.action), one.reason ? el("span", { class: "quiet" }, " ", spoken(one.reason.replace(`${one.action}: `, ""), named)) : null),
    one.is_gone ? el("p", { class: "quiet" }, "purged since") : el("a", { class: "text", href: `#/memory/${encodeURIComponent(one.id)}` }, one.content || one.title),
    one.derived_from.length && isNew ? el("p", { class: "facts" }, el("span", {}, "from"), one.derived_from.map((id) => el("a", { href: `#/memory/${encodeURIComponent(id)}` }, id in named ? `“${named[id].slice(0, 40)}…”` : shortId(id)))) : null,
    values(one.before, one.after),
    el("button", { class: "plain", onclick: takeBack }, "Take back"));
}

async function tonight(main, go) {
  main.append(el("p", { class: "crumb" }, el("a", { href: "#/nights" }, "← Nights")), el("h1", {}, "What would tonight do?"));
  const waiting = el("p", { class: "quiet", id: "progress", role: "status" }, "Planning…");
  main.append(waiting);
  const plan = await call("consolidate", { dry_run: true });
  waiting.remove();
  const groups = new Map();
  for (const one of plan.changes) {
    const key = `${STEPS[one.step] ?? one.step}: ${one.action}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const ids = [...new Set(plan.changes.filter((one) => one.action !== "written").map((one) => one.id))].slice(0, 100);
  const named = ids.length ? (await call("named", { ids })).memories : [];
  const texts = new Map(named.map((one) => [one.id, one.content]));
  const notes = plan.steps.filter((step) => step.notes.length).map((step) => el("div", {}, el("dt", {}, STEPS[step.name] ?? step.name), el("dd", {}, step.notes.join("; "))));
  main.append(notes.length ? el("dl", { class: "story" }, notes) : el("p", { class: "empty" }, "Nothing has to be done tonight."));
  main.append(...[...groups].map(([name, some]) => el("section", {}, el("h2", {}, `${name} (${some.length})`), el("ul", { class: "changes" }, some.map((one) =>
    el("li", { class: "card change-card" }, texts.has(one.id) ? el("a", { class: "text", href: `#/memory/${encodeURIComponent(one.id)}` }, texts.get(one.id)) : el("span", { class: "text" }, "a new memory"),
      el("p", { class: "quiet" }, one.reason)))))));
  main.append(el("p", { class: "quiet" }, "Nothing was changed."), el("p", {}, el("button", { class: "primary", onclick: () => dreamNow(main, go) }, "Dream now")));
}

async function dreamNow(main, go) {
  const progress = el("p", { class: "quiet", id: "progress", role: "status" }, "Dreaming…");
  main.append(progress);
  await attempt(async () => {
    const done = await call("consolidate", {});
    say("The dream is done.", () => attempt(async () => { await call("restore", { dream_id: done.dream_id }); say("Taken back."); window.dispatchEvent(new Event("again")); }));
    go(`#/nights/${encodeURIComponent(done.dream_id)}`);
  });
  progress.remove();
}

/** Show how far a dream has come. */
export function heard(event) {
  const progress = document.getElementById("progress");
  if (progress && event.call !== "checks") progress.textContent = `${event.message || "Working"} (${Math.round((event.done / (event.total || 1)) * 100)} %)`;
}
