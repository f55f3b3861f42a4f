// Parts that every view uses: notices, dialogs, rows of memories, and what one can do with a memory.

import { call } from "./api.js";
import { el, memories, percent, shortId, when } from "./dom.js";
import { meter } from "./charts.js";

const notice = document.getElementById("notice");
const dialog = document.getElementById("dialog");
const chooser = document.getElementById("project");
let hiding = 0;

/** Say what happened, with a way back if there is one. */
export function say(text, undo = null) {
  clearTimeout(hiding);
  notice.replaceChildren(el("span", {}, text));
  if (undo) notice.append(el("button", { class: "plain", onclick: () => { notice.hidden = true; undo(); } }, "Undo"));
  notice.append(el("button", { class: "plain", "aria-label": "Close", onclick: () => { notice.hidden = true; } }, "×"));
  notice.hidden = false;
  hiding = setTimeout(() => { notice.hidden = true; }, undo ? 12_000 : 6_000);
}

/** Do something; what goes wrong is said and not thrown. Returns its result, or undefined. */
export async function attempt(work) {
  working++;
  try {
    return await work();
  } catch (error) {
    say(error.message);
    return undefined;
  } finally {
    working--;
  }
}

let working = 0;

/** Whether a change is under way; its view is shown again when it is done. */
export const isWorking = () => working > 0;

/** Show a dialog with some nodes; resolves to what `answer` returns when agreed to, and to null when not. */
export function ask(title, body, action, { danger = false, answer = () => true } = {}) {
  return new Promise((done) => {
    const close = (value) => { dialog.close(); done(value); };
    const cancel = el("button", { type: "button", onclick: () => close(null) }, "Cancel");
    const form = el("form", { onsubmit: (event) => { event.preventDefault(); close(answer()); } },
      el("h2", { id: "dialog-title" }, title), el("div", { class: "dialog-body" }, body),
      el("div", { class: "actions" }, cancel, el("button", { type: "submit", class: danger ? "danger" : "primary" }, action)));
    dialog.replaceChildren(form);
    dialog.oncancel = (event) => { event.preventDefault(); close(null); };
    dialog.showModal();
    (form.querySelector("textarea, input") ?? cancel).focus();
  });
}

export const isAsking = () => dialog.open;

/** The name of a memory: its title, or how it begins. */
export function nameOf(memory) {
  return memory.title || memory.content;
}

/** The words about a memory under its text. */
export function facts(memory, more = []) {
  return el("p", { class: "facts" },
    el("span", { class: `layer ${memory.layer}` }, memory.layer),
    el("span", {}, memory.kind.replaceAll("_", " ")),
    memory.pinned ? el("span", { class: "pin" }, "pinned") : null,
    memory.status && memory.status !== "active" ? el("span", { class: `status ${memory.status}` }, memory.status) : null,
    memory.project && memory.project !== chooser.value ? el("span", { class: "where" }, memory.project) : null,
    (memory.tags ?? []).map((tag) => el("a", { class: "tag", href: `#/memories?tag=${encodeURIComponent(tag)}`, title: "Everything with this tag" }, `#${tag}`)),
    memory.created_at ? when(memory.created_at) : null,
    more);
}

/** One memory in a list; `beside` is shown at its right. */
export function row(memory, { beside = null, below = null, select = null } = {}) {
  const left = memory.retention;
  const title = el("a", { class: "text", href: `#/memory/${encodeURIComponent(memory.id)}` }, memory.content || nameOf(memory));
  const headed = memory.title && !(memory.content ?? "").startsWith(memory.title.replace(/[ .…]+$/, ""));
  const item = el("li", { class: "row" },
    select ? el("input", { type: "checkbox", "aria-label": `Select: ${nameOf(memory).slice(0, 80)}`, onchange: (event) => select(memory, event.target.checked) }) : null,
    el("div", { class: "said" },
      headed ? el("p", { class: "headline" }, memory.title) : null,
      title, facts(memory), below),
    el("div", { class: "beside" }, beside,
      left === undefined ? null : [meter(left, "retention"), el("span", { class: "quiet small" }, `${percent(left)} left`)]));
  if (left !== undefined) item.style.setProperty("--left", String(0.55 + 0.45 * left));
  return item;
}

// -- what one can do with memories ---------------------------------------------------------------------------

export async function pin(memory, pinned) {
  await call("pin", { id: memory.id, pinned });
  say(pinned ? "Pinned: it is never forgotten, merged or archived." : "Unpinned.", () => attempt(() => call("pin", { id: memory.id, pinned: !pinned })));
}

export async function move(memory, direction) {
  const moved = await call(direction, { id: memory.id });
  say(`Moved from ${moved.from_layer} to ${moved.to_layer}.`,
    () => attempt(() => call(direction === "promote" ? "demote" : "promote", { id: memory.id, to: moved.from_layer })));
}

/** Forget memories after showing which; returns whether it was done. */
export async function forget(chosen) {
  const agreed = await agreedToForget(chosen);
  if (!agreed) return false;
  const ids = chosen.map((one) => one.id);
  const done = await call("forget", { ids, reason: "forgotten on the page" });
  const kept = done.skipped.length ? ` ${done.skipped.length} left: ${done.skipped[0].reason}.` : "";
  say(`Forgotten: ${memories(done.forgotten.length)}.${kept}`, done.forgotten.length ? () => restore(done.forgotten) : null);
  return true;
}

export async function restore(ids) {
  await attempt(async () => {
    const done = await call("restore", { ids });
    say(done.restored.length ? `Restored: ${memories(done.restored.length)}.` : `Left as it is: ${done.skipped[0]?.reason ?? "nothing to do"}.`);
    window.dispatchEvent(new Event("again"));
  });
}

const DONE = { pin: "Pinned", unpin: "Unpinned", promote: "Promoted", demote: "Demoted", forget: "Forgotten", restore: "Restored" };

/** Do one thing to each of some memories, show an outcome for each that was left, and offer to take it all back. */
export async function changeMany(action, chosen) {
  if (action === "forget" && !(await agreedToForget(chosen))) return false;
  const { outcomes, changed } = await call("change_many", { action, ids: chosen.map((one) => one.id), reason: action === "forget" ? "forgotten on the page" : "" });
  const left = outcomes.filter((one) => !one.done);
  const events = outcomes.filter((one) => one.done && one.event_id).map((one) => one.event_id);
  const undo = () => attempt(async () => {
    const back = await call("change_many", { action: "undo", ids: events });
    say(`Taken back: ${memories(back.changed)}.${back.changed < events.length ? ` ${events.length - back.changed} changed since.` : ""}`);
    window.dispatchEvent(new Event("again"));
  });
  say(`${DONE[action]}: ${memories(changed)}.${left.length ? ` ${left.length} left as they are.` : ""}`, events.length ? undo : null);
  if (left.length) {
    const names = new Map(chosen.map((one) => [one.id, nameOf(one)]));
    await ask(`${memories(left.length)} left as they are`, el("ul", { class: "going" }, left.map((one) =>
      el("li", {}, (names.get(one.id) ?? one.id).slice(0, 160), el("p", { class: "quiet small" }, one.said)))), "Close");
  }
  return true;
}

function agreedToForget(chosen) {
  return ask(`Forget ${memories(chosen.length)}?`,
    [el("ul", { class: "going" }, chosen.slice(0, 12).map((one) => el("li", {}, nameOf(one).slice(0, 160)))),
     chosen.length > 12 ? el("p", {}, `and ${chosen.length - 12} more`) : null,
     el("p", { class: "quiet" }, "They are no longer recalled. You can bring them back at any time.")], "Forget", { danger: true });
}

/** Remove memories for good after showing what goes along and what stays; returns whether it was done. */
export async function purge(chosen) {
  const ids = chosen.map((one) => one.id);
  const plan = await call("forget", { ids, purge: true, dry_run: true });
  if (!plan.forgotten.length) {
    say(`Nothing can be removed: ${plan.skipped[0]?.reason ?? "there is nothing"}.`);
    return false;
  }
  const named = await call("named", { ids: plan.forgotten.slice(0, 100) });
  const word = el("input", { id: "purge-word", autocomplete: "off", required: true, pattern: "purge" });
  const agreed = await ask(`Remove ${memories(plan.forgotten.length)} for good?`,
    [el("ul", { class: "going" }, named.memories.map((one) => el("li", {}, one.content.slice(0, 160), ids.includes(one.id) ? null : el("em", {}, " – written by a dream from what goes")))),
     plan.skipped.length ? [el("p", {}, "Stays:"), el("ul", {}, plan.skipped.map((one) => el("li", {}, shortId(one.id), ` ${one.reason}`)))] : null,
     el("p", {}, "Text, index, history and old versions are destroyed. This cannot be undone."),
     el("p", {}, el("label", { for: "purge-word" }, "Type “purge” to agree: "), word)], "Remove for good", { danger: true });
  if (!agreed) return false;
  const done = await call("forget", { ids, purge: true });
  say(`Removed ${memories(done.forgotten.length)} for good. Files that you exported earlier are yours to delete.`);
  return true;
}

/** Correct the text of a memory; returns the id of the new one, or null. */
export async function edit(memory) {
  const text = el("textarea", { id: "edited", rows: 8, required: true, value: memory.content });
  const reason = el("input", { id: "edit-reason", maxlength: 200, autocomplete: "off" });
  const given = await ask("Correct this memory",
    [el("label", { for: "edited" }, "The corrected text"), text, el("label", { for: "edit-reason" }, "Why (optional)"), reason,
     el("p", { class: "quiet" }, "The old text is kept as history.")],
    "Keep the correction", { answer: () => ({ content: text.value, reason: reason.value }) });
  if (!given || given.content === memory.content) return null;
  const revised = await call("revise", { id: memory.id, ...given });
  say(revised.status === "quarantined" ? "Held back for review: the text looks like an instruction." : "Corrected.");
  return revised.id;
}

/** Undo one event of a memory's history after showing what that does. */
export async function undoEvent(eventId, shown) {
  if (!(await ask("Undo this change?", shown, "Undo it"))) return false;
  const done = await call("restore", { event_id: eventId });
  say(done.restored.length ? "Undone." : `Left as it is: ${done.skipped[0]?.reason ?? "nothing to take back"}.`);
  return true;
}
