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
  main.append(el("h1", {}, "Nights"), el("p", { class: "lead" }, "Once a day, when nobody works, a dream merges, checks and lets go. Every change can be taken back."),
    el("p", {}, el("a", { class: "button primary", href: "#/nights/tonight" }, "What would tonight do?")));
  main.append(found.dreams.length
    ? el("ol", { class: "rows nights" }, found.dreams.map((dream) => el("li", { class: "row" },
        el("div", { class: "said" }, el("a", { class: "text", href: `#/nights/${encodeURIComponent(dream.id)}` }, `The night of ${day(dream.at)}`),
          el("p", { class: "facts" }, el("span", {}, dream.summary)), el("p", { class: "facts" }, when(dream.at), dream.status === "done" ? null : el("span", { class: "status" }, dream.status))),
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
    const done = Object.entries(step.summaries ?? {}).map(([what, times]) => (times > 1 ? `${what} ${times}×` : what));
    const said = [...done, ...step.notes, ...(step.skipped ? [`${step.skipped} set aside`] : [])];
    return said.length ? [el("div", {}, el("dt", {}, STEPS[step.name] ?? step.name), el("dd", {}, said.join("; ")))] : [];
  });
  main.append(story.length ? el("dl", { class: "story" }, story) : el("p", {}, "Nothing had to be done."));
  if (dream.changes.length) {
    main.append(el("h2", {}, "Before and after"), el("ol", { class: "changes" }, dream.changes.map(change)));
    if (dream.total_changes > dream.changes.length) main.append(el("p", { class: "quiet" }, `and ${dream.total_changes - dream.changes.length} more`));
    if (dream.status === "done") main.append(el("p", {}, undo));
  }
  if (dream.questions.length) main.append(el("p", {}, el("a", { href: "#/questions" }, `${counted(dream.questions.length, "question")} left for you`)));
}

function change(one) {
  const isNew = one.action === "remembered";
  const names = isNew ? [] : Object.keys(one.after).filter((name) => SHOWN.has(name) && name in one.before);
  return el("li", { class: "card change-card" },
    el("p", {}, el("strong", { class: "action" }, isNew ? "written" : one.action), one.reason ? el("span", { class: "quiet" }, ` ${one.reason}`) : null),
    one.is_gone ? el("p", { class: "quiet" }, "purged since") : el("a", { class: "text", href: `#/memory/${encodeURIComponent(one.id)}` }, one.content || one.title),
    one.derived_from.length && isNew ? el("p", { class: "facts" }, el("span", {}, "from"), one.derived_from.map((id) => el("a", { href: `#/memory/${encodeURIComponent(id)}` }, shortId(id)))) : null,
    names.length ? el("dl", { class: "change" }, names.map((name) => el("div", {}, el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, el("del", {}, written(one.before[name])), " → ", el("ins", {}, written(one.after[name])))))) : null,
    el("button", { class: "plain", onclick: () => attempt(async () => { if (await undoEvent(one.event_id)) window.dispatchEvent(new Event("again")); }) }, "Take back"));
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
