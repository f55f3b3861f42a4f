// The list of memories: searched as recall does it, or browsed page by page.

import { call } from "./api.js";
import { counted, el, memories, percent } from "./dom.js";
import { meter } from "./charts.js";
import { attempt, changeMany, purge, restore, row } from "./ui.js";

const PER_PAGE = 40;
const FILTERS = [
  ["layer", "Layer", ["working", "episodic", "semantic", "procedural", "codebase"]],
  ["kind", "Kind", ["fact", "decision", "preference", "event", "error_fix", "how_to", "rejected", "code", "peer_card", "bridge", "digest"]],
  ["source", "Source", ["human", "ai", "interaction", "ingest", "code_scan", "dream", "import"]],
  ["status", "Status", ["active", "challenged", "superseded", "expired", "quarantined"]],
  ["freshness", "Evidence", ["verified", "changed", "moved", "missing"]],
  ["since", "Age", [["1d", "last day"], ["7d", "last week"], ["30d", "last month"], ["365d", "last year"]]],
  ["sort", "Order", [["newest", "newest first"], ["oldest", "oldest first"], ["used", "last used"], ["important", "most important"]]],
];
const WHY = {
  fit: "how likely it answers", vector: "meaning", text: "words", pieces: "meaning, word by word", strength: "strength",
  freshness: "evidence", trust: "trust", kind_factor: "what it is", diversity: "not a repetition",
};

export const title = "Memories";

export async function show(main, { params, project, go }) {
  const search = el("input", { type: "search", id: "search", name: "q", value: params.get("q") ?? "", placeholder: "Ask or search", autocomplete: "off", "aria-label": "Search memories" });
  const filters = el("div", { class: "filters" }, FILTERS.map(([name, label, options]) => {
    const isUnused = params.get("q") && ["source", "freshness", "sort"].includes(name); // recall does not know these
    const chosen = el("select", { name, disabled: Boolean(isUnused), onchange: () => submit() },
      el("option", { value: "" }, name === "sort" ? "newest first" : "any"),
      options.filter((one) => one[0] !== "newest").map((one) => Array.isArray(one) ? el("option", { value: one[0] }, one[1]) : el("option", { value: one }, one.replaceAll("_", " "))));
    chosen.value = params.get(name) ?? "";
    return el("label", {}, el("span", { class: "quiet" }, label), chosen);
  }), el("label", {}, el("span", { class: "quiet" }, "Tag"), el("input", { name: "tag", value: params.get("tag") ?? "", autocomplete: "off", onchange: () => submit() })));
  const form = el("form", { role: "search", class: "search", onsubmit: (event) => { event.preventDefault(); submit(); } },
    el("div", { class: "ask" }, search, el("button", { class: "primary", type: "submit" }, "Search")),
    el("details", { open: isFiltered(params) || innerWidth > 900 }, el("summary", {}, "Filters"), filters));
  function submit() {
    const given = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    go(`#/memories?${given}`);
  }
  const list = el("div", { class: "found", "aria-live": "off" });
  main.append(el("h1", {}, "Memories"), form, list);
  if (params.get("q")) await found(list, params, project);
  else await browsed(list, params, project, go);
}

function isFiltered(params) {
  return FILTERS.some(([name]) => params.get(name)) || params.has("tag");
}

function given(params, names) {
  return Object.fromEntries(names.filter(([name]) => params.get(name)).map(([name, field, one]) => [field, one ? params.get(name) : [params.get(name)]]));
}

// -- browsing --------------------------------------------------------------------------------------------------

async function browsed(list, params, project, go) {
  const page = Math.max(1, Number(params.get("page") ?? 1) || 1);
  const asked = given(params, [["layer", "layers"], ["kind", "kinds"], ["source", "sources"], ["status", "statuses"], ["freshness", "freshness"], ["tag", "tags"], ["since", "since", true], ["sort", "sort", true]]);
  const answer = await call("browse", { ...asked, ...project.scope(), limit: PER_PAGE, offset: (page - 1) * PER_PAGE });
  if (!answer.total) {
    list.append(el("p", { class: "empty" }, isFiltered(params) ? "No memory fits these filters." : "Nothing is remembered here yet. When an assistant learns something, it shows up here."));
    return;
  }
  const layers = Object.entries(answer.layers).map(([layer, number]) => `${number.toLocaleString("en")} ${layer}`).join(", ");
  const chosen = selection(list);
  list.append(el("p", { class: "quiet total" }, `${memories(answer.total)}: ${layers} `, chosen.every("Select all on this page")),
    el("ul", { class: "rows" }, answer.memories.map((memory) => row(memory, { select: chosen.toggle }))));
  if (answer.total > PER_PAGE) list.append(paging(params, page, answer.total, go));
}

function paging(params, page, total, go) {
  const pages = Math.ceil(total / PER_PAGE);
  const to = (number) => () => { const next = new URLSearchParams(params); next.set("page", number); go(`#/memories?${next}`); };
  return el("nav", { class: "paging", "aria-label": "Pages" },
    el("button", { disabled: page <= 1, onclick: to(page - 1) }, "← Newer"),
    el("span", {}, `Page ${page.toLocaleString("en")} of ${pages.toLocaleString("en")}`),
    el("button", { disabled: page >= pages, onclick: to(page + 1) }, "Older →"));
}

/** A bar for what is selected: it appears with the first choice. */
function selection(list) {
  const chosen = new Map();
  const number = el("span", { role: "status" });
  const again = () => window.dispatchEvent(new Event("again"));
  const all = async (work) => { await attempt(async () => { if (await work([...chosen.values()]) !== false) again(); }); };
  const selectAll = () => { for (const box of list.querySelectorAll(":scope > ul.rows > li.row > input:not(:checked)")) box.click(); };
  const button = (label, action) => el("button", { onclick: () => all((some) => changeMany(action, some)) }, label);
  const bar = el("div", { class: "selection", role: "group", "aria-label": "Selected memories", hidden: true }, number,
    button("Pin", "pin"), button("Unpin", "unpin"), button("Promote", "promote"), button("Demote", "demote"), button("Forget", "forget"), button("Restore", "restore"),
    el("button", { class: "danger", onclick: () => all(purge) }, "Purge…"));
  list.append(bar);
  return {
    every: (label) => el("button", { class: "plain small", onclick: selectAll }, label),
    toggle(memory, on) {
      if (on) chosen.set(memory.id, memory); else chosen.delete(memory.id);
      number.textContent = `${chosen.size} selected`;
      bar.hidden = chosen.size === 0;
    },
  };
}

// -- searching -------------------------------------------------------------------------------------------------

async function found(list, params, project) {
  const asked = given(params, [["layer", "layers"], ["kind", "kinds"], ["tag", "tags"], ["since", "since", true]]);
  const hidden = ["expired", "superseded", "quarantined"].includes(params.get("status")) ? { include: [params.get("status")] } : {};
  list.append(el("p", { class: "quiet" }, "Searching…"));
  const answer = await call("search", { query: params.get("q"), ...asked, ...hidden, ...project.scope(), why_not: false });
  list.replaceChildren();
  const chosen = selection(list);
  const word = { well: "", weak: " Nothing fits well.", none: " Nothing answers this." }[answer.fits] ?? "";
  const state = answer.index_state === "ready" ? "" : " Searched by words only: the model is not loaded.";
  list.append(el("p", { class: "quiet total", role: "status" }, `${counted(answer.results.length, "answer")}, as an assistant would get them.${word}${state} `, answer.results.length ? chosen.every("Select all") : null));
  list.append(el("ul", { class: "rows" }, answer.results.map((memory) => row(memory, {
    select: chosen.toggle,
    beside: [meter(memory.score, "score"), el("span", { class: "quiet small" }, `${percent(memory.score)} fit`)],
    below: memory.why ? why(memory) : null,
  }))));
  // The wider search takes longer on a large store: the answers do not wait for it.
  const shown = answer.results.map((memory) => memory.id);
  const wider = await call("search", { query: params.get("q"), ...asked, ...hidden, ...project.scope(), shown });
  if (wider.passed_over.length) list.append(passedOver(wider, chosen));
}

function why(memory) {
  return el("details", { class: "why" }, el("summary", {}, "Why"),
    el("dl", { class: "parts" }, Object.entries(memory.why).map(([name, value]) =>
      el("div", {}, el("dt", {}, WHY[name] ?? name.replaceAll("_", " ")), el("dd", {}, meter(value, name), el("span", { class: "number" }, value.toFixed(2)))))),
    memory.evidence ? el("p", { class: "quiet" }, memory.evidence) : null);
}

const REASONS = {
  "does not fit": "too far from the question to be shown",
  "another project": "kept in another project",
  "faded or forgotten": "expired or forgotten",
  superseded: "replaced by a newer memory",
  "in quarantine": "held back until somebody decides",
  "beyond the limit": "others fit better",
  "too much from one source": "one source gives at most a third of an answer",
};

function passedOver(answer, chosen) {
  const groups = Map.groupBy ? Map.groupBy(answer.passed_over, (one) => one.reason) : grouped(answer.passed_over);
  return el("section", { class: "passed", "aria-labelledby": "passed" }, el("h2", { id: "passed" }, "Passed over"),
    [...groups].map(([reason, some]) => el("details", { open: ["another project", "faded or forgotten"].includes(reason) },
      el("summary", {}, el("strong", {}, reason), el("span", { class: "quiet" }, ` ${some.length} – ${REASONS[reason] ?? ""}`)),
      el("ul", { class: "rows small" }, some.map((one) => row(one, { select: chosen.toggle, beside: change(one) }))))));
}

function grouped(items) {
  const groups = new Map();
  for (const one of items) groups.set(one.reason, [...(groups.get(one.reason) ?? []), one]);
  return groups;
}

/** What a click can do so that the memory is found next time. */
function change(one) {
  if (one.reason === "faded or forgotten" || one.reason === "superseded") return el("button", { onclick: () => restore([one.id]) }, "Restore");
  if (one.reason === "another project") return el("button", { onclick: () => window.dispatchEvent(new CustomEvent("project", { detail: one.project })) }, "Look there");
  if (one.reason === "in quarantine") return el("a", { class: "button", href: "#/questions" }, "Decide");
  return null;
}
