// What the next session of a project starts with, exactly as it is given.

import { call } from "./api.js";
import { counted, el, memories } from "./dom.js";
import { attempt, pin } from "./ui.js";

export const title = "Start of a session";

export async function show(main, { params, project, go }) {
  const tokens = Number(params.get("tokens")) || 800;
  const budget = el("input", { id: "tokens", type: "number", min: 50, max: 20000, step: 50, value: tokens, onchange: (event) => go(`#/session?tokens=${event.target.value}`) });
  const brief = await call("brief", { max_tokens: tokens, ...project.only() });
  main.append(el("h1", {}, "Start of a session"),
    el("p", { class: "lead" }, "This is what an assistant is given when its next session in ", el("strong", {}, project.name()), " begins. Pin a memory and see it move up."),
    el("p", { class: "facts" }, el("label", { for: "tokens" }, "At most "), budget, el("span", {}, "tokens"), el("strong", { id: "used" }, `${brief.tokens.toLocaleString("en")} tokens used`),
      el("span", {}, memories(brief.memories.length)), brief.more ? el("span", {}, `${counted(brief.more, "other")} by recall`) : null),
    el("pre", { class: "brief", tabindex: 0, "aria-label": "The text of the brief" }, brief.text));
  if (!brief.memories.length) return;
  const named = (await call("inspect", { ids: brief.memories.slice(0, 60) })).memories;
  main.append(el("h2", {}, "The memories in it"), el("ul", { class: "rows small" }, named.map((memory) => el("li", { class: "row" },
    el("div", { class: "said" }, el("a", { class: "text", href: `#/memory/${encodeURIComponent(memory.id)}` }, memory.content.slice(0, 200))),
    el("div", { class: "beside" }, el("button", { "aria-pressed": String(memory.pinned), onclick: () => attempt(async () => { await pin(memory, !memory.pinned); window.dispatchEvent(new Event("again")); }) }, memory.pinned ? "Unpin" : "Pin"))))));
}
