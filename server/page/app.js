// The page: which view is shown, for which project, and what the keyboard does.

import { call, listen, takeKey } from "./api.js";
import { el } from "./dom.js";
import { ask, isAsking, isWorking } from "./ui.js";
import * as clock from "./clock.js";
import * as health from "./health.js";
import * as memories from "./memories.js";
import * as memory from "./memory.js";
import * as nights from "./nights.js";
import * as questions from "./questions.js";
import * as session from "./session.js";

const VIEWS = { memories, memory, clock, nights, questions, session, health };
const ORDER = ["memories", "clock", "nights", "questions", "session", "health"];
const ALL = "*";

const main = document.getElementById("main");
const chooser = document.getElementById("project");
let here = "";
let shown = 0;
let isConnected = true;

const project = {
  isAll: () => chooser.value === ALL,
  /** What a list of memories is limited to. */
  scope: () => (chooser.value === ALL ? { all_projects: true } : { project: chooser.value }),
  /** The project for what is about one only. */
  only: () => ({ project: chooser.value === ALL ? here : chooser.value }),
  name: () => (chooser.value === ALL ? here : chooser.value),
};

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return { name: name in VIEWS ? name : "memories", rest: rest.join("/"), params: new URLSearchParams(query ?? "") };
}

function go(hash) {
  if (location.hash === hash) show();
  else location.hash = hash;
}

/** Show the view that the address names; `keep` leaves scroll and focus as they are, `unasked` also who types. */
async function show({ keep = false, unasked = false } = {}) {
  const { name, rest, params } = route();
  const view = VIEWS[name];
  const number = ++shown;
  const scroll = keep ? scrollY : 0;
  const hash = location.hash;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${name === "memory" ? "memories" : name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view.title} – Reverie`;
  main.setAttribute("aria-busy", "true");
  const place = el("div", { class: `view ${name}` });
  if (!keep) main.replaceChildren(place);
  try {
    await view.show(place, { rest, params, project, go });
  } catch (error) {
    place.append(el("div", { class: "failed", role: "alert" }, el("p", {}, error.message), el("button", { onclick: () => show() }, "Try again")));
  }
  if (number !== shown) return;
  if (keep && ((unasked && isTyping()) || location.hash !== hash)) { // somebody went on meanwhile: what they look at stays
    main.removeAttribute("aria-busy");
    return;
  }
  if (keep) main.replaceChildren(place);
  main.removeAttribute("aria-busy");
  scrollTo(0, scroll);
  if (!keep && !place.contains(document.activeElement)) main.focus({ preventScroll: true });
}

async function projects() {
  const found = await call("projects", {});
  const wanted = chooser.value || found.here;
  here = found.here;
  chooser.replaceChildren(...found.projects.map((one) => el("option", { value: one.name }, one.name)), el("option", { value: ALL }, "all projects"));
  chooser.value = wanted;
}

async function waiting() {
  const found = await call("overview", {}).catch(() => null);
  const number = found ? found.open_questions + found.held : 0;
  const badge = document.getElementById("waiting");
  badge.hidden = number === 0;
  badge.textContent = String(number);
  badge.setAttribute("aria-label", `${number} waiting`);
}

// -- what happens meanwhile --------------------------------------------------------------------------------------

let refreshing = 0;
let seen = null; // the number of the last event that is shown

function heard(event) {
  if (event.event === "progress") { nights.heard(event); health.heard(event); }
  if (event.event === "at") { if (seen !== null && seen !== event.number) refresh(); seen = event.number; document.body.dataset.live = "yes"; }
  if (event.event === "changed") { seen = event.number; clearTimeout(refreshing); refreshing = setTimeout(refresh, 400); }
  if (event.event === "connected" && !isConnected) { isConnected = true; away(null); refresh(); }
  if (event.event === "disconnected" && isConnected) { isConnected = false; away("The engine is away; trying again."); }
  if (event.event === "lost") away(event.message);
}

const banner = document.getElementById("away");

/** Say that nobody answers, or nothing. */
function away(message) {
  banner.hidden = message === null;
  if (message !== null && banner.textContent !== message) banner.textContent = message;
}

const isTyping = () => Boolean(document.activeElement?.matches("input, textarea, select"));

function refresh() {
  waiting();
  const choosing = main.querySelector("input[type=checkbox]:checked, details.why[open]");
  if (isAsking() || isWorking() || isTyping() || choosing || main.hasAttribute("aria-busy") || document.getElementById("progress")) return;
  show({ keep: true, unasked: true });
}

// -- keyboard ----------------------------------------------------------------------------------------------------

const KEYS = [["/", "search"], ["1 – 6", "the six views"], ["j / k", "next and previous in a list"], ["Enter", "open"], ["e p f", "edit, pin, forget an open memory"], ["1 – 4", "answer the question that has the focus"], ["?", "this help"]];

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isAsking() || event.target.matches("input, textarea, select")) return;
  const step = { j: 1, k: -1 }[event.key];
  if (event.key === "/") {
    const search = document.getElementById("search");
    if (search) search.focus(); else { go("#/memories"); setTimeout(() => document.getElementById("search")?.focus(), 50); }
  } else if (step) {
    const stops = [...main.querySelectorAll("li.row a.text, li.card[tabindex], li.card a.text")];
    const at = stops.findIndex((one) => one === document.activeElement || one.closest("li") === document.activeElement?.closest("li"));
    stops[Math.max(0, Math.min(stops.length - 1, at + step))]?.focus();
  } else if (event.key === "?") {
    ask("Keys", el("dl", { class: "parts table" }, KEYS.map(([key, what]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)))), "Close");
  } else if (ORDER[Number(event.key) - 1]) {
    go(`#/${ORDER[Number(event.key) - 1]}`);
  } else {
    const button = /^[a-z]$/.test(event.key) ? main.querySelector(`button[data-key="${event.key}"]`) : null;
    if (!button) return;
    button.click();
  }
  event.preventDefault();
});

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", () => show());
addEventListener("again", () => { show({ keep: true }); waiting(); });
addEventListener("project", (event) => { chooser.value = event.detail; show(); });
chooser.addEventListener("change", () => show());

takeKey();
try {
  await projects();
} catch (error) {
  main.append(el("div", { class: "failed", role: "alert" }, el("h1", {}, "Reverie"), el("p", {}, error.message)));
  throw error;
}
await show();
waiting();
listen(heard);
