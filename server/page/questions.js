// What waits for a person: questions that dreams left open, and texts in quarantine.

import { call } from "./api.js";
import { counted, day, el, marked, when } from "./dom.js";
import { ask, attempt, say } from "./ui.js";

const NEEDS_TEXT = new Set(["merge", "bridge", "revise"]);
const VERDICTS = {
  merge: "Merge them", separate: "Keep both", bridge: "Write the connection", no_bridge: "No connection", outdated: "It is outdated",
  holds: "It still holds", revise: "Revise it…", forget: "Forget it",
};

export const title = "Questions";

export async function show(main) {
  const [asked, held] = await Promise.all([call("review", { limit: 50 }), call("quarantine", {})]);
  main.append(el("h1", {}, "Questions"), el("p", { class: "lead" }, "What a dream would not decide alone. Nothing changes until you answer."));
  main.append(asked.questions.length
    ? el("ol", { class: "cards" }, asked.questions.map((question, number) => card(question, number + 1, asked.questions.length)))
    : el("p", { class: "empty" }, "No question is open."));
  main.append(el("h2", {}, "Quarantine"), el("p", { class: "quiet" }, "Texts that look like instructions to an assistant. They are not recalled until you release them."));
  main.append(held.held.length ? el("ul", { class: "cards" }, held.held.map(heldCard)) : el("p", { class: "empty" }, "Nothing is held back."));
}

function card(question, number, total) {
  const texts = question.memories.map((memory) => memory.content);
  const words = differing(texts);
  const buttons = question.verdicts.map((verdict, index) =>
    el("button", { "data-verdict": verdict, onclick: () => answer(question, verdict) }, el("kbd", {}, String(index + 1)), ` ${VERDICTS[verdict] ?? verdict}`));
  const item = el("li", { class: "card", tabindex: 0, "aria-label": `Question ${number} of ${total}: ${question.ask}` },
    el("h2", {}, question.ask),
    el("div", { class: "sides" }, question.memories.map((memory) =>
      el("blockquote", { class: memory.status }, el("p", {}, marked(memory.content, words.get(memory.content) ?? [])),
        el("footer", { class: "facts" }, el("span", {}, memory.source), el("span", {}, day(memory.happened_at)),
          memory.status === "active" ? null : el("span", { class: `status ${memory.status}` }, memory.status),
          el("a", { href: `#/memory/${encodeURIComponent(memory.id)}` }, "open"))))),
    el("ul", { class: "evidence" }, question.evidence.map((line) => el("li", {}, line))),
    el("div", { class: "actions" }, buttons));
  item.addEventListener("keydown", (event) => {
    if (event.target.closest("textarea, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const verdict = question.verdicts[Number(event.key) - 1];
    if (verdict) { event.preventDefault(); event.stopPropagation(); answer(question, verdict); }
  });
  return item;
}

/** Return the words of each text that the other does not have, to be marked. */
function differing(texts) {
  const split = texts.map((text) => text.match(/[\p{L}\p{N}_./-]+/gu) ?? []);
  const found = new Map();
  texts.forEach((text, n) => {
    const others = new Set(split.filter((_, m) => m !== n).flat().map((word) => word.toLowerCase()));
    found.set(text, texts.length === 2 ? split[n].filter((word) => !others.has(word.toLowerCase())).map((word) => word.replace(/[.]+$/, "")) : []);
  });
  return found;
}

async function answer(question, verdict) {
  await attempt(async () => {
    let text = "";
    if (NEEDS_TEXT.has(verdict)) {
      const texts = question.memories.map((memory) => memory.content);
      const area = el("textarea", { id: "verdict-text", rows: 8, required: true, value: verdict === "revise" ? texts[0] : texts.join("\n\n") });
      text = await ask(VERDICTS[verdict].replace("…", ""), [el("label", { for: "verdict-text" }, "The text to keep"), area], "Keep it", { answer: () => area.value });
      if (text === null) return;
    }
    const done = await call("review", { decisions: [{ question_id: question.id, verdict, text }], limit: 0 });
    const changed = done.resolved[0]?.changed;
    say(changed ? "Answered." : "Answered; nothing had to change.",
      changed ? () => attempt(async () => { await call("restore", { dream_id: question.id }); window.dispatchEvent(new Event("again")); say("Taken back."); }) : null);
    window.dispatchEvent(new Event("again"));
  });
}

function heldCard(memory) {
  const decide = (how) => () => attempt(async () => {
    if (how === "release" && !(await ask("Release this text?", [el("p", {}, memory.content.slice(0, 600)), el("p", { class: "quiet" }, "Assistants will be able to recall it.")], "Release"))) return;
    await call("decide_quarantine", { [how]: [memory.id] });
    say(how === "release" ? "Released: it can be recalled now." : "Forgotten.");
    window.dispatchEvent(new Event("again"));
  });
  return el("li", { class: "card held" },
    el("p", { class: "content" }, marked(memory.content, memory.marks)),
    el("p", { class: "reason" }, memory.reason),
    el("p", { class: "facts" }, el("span", {}, `from ${memory.source}`), el("span", {}, memory.project), when(memory.created_at), memory.marks.length ? el("span", {}, counted(memory.marks.length, "phrase")) : null),
    el("div", { class: "actions" }, el("button", { onclick: decide("release") }, "Release"), el("button", { class: "danger", onclick: decide("forget") }, "Forget")));
}
