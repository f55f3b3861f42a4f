// The clock: back to what was known on a day, forward to what would be left of it.

import { call } from "./api.js";
import { day, el, memories } from "./dom.js";
import { attempt, pin, row } from "./ui.js";

const DAY = 86_400_000;
const AHEAD = 365;

export const title = "The clock";

export async function show(main, { params, project }) {
  const overview = await call("overview", {});
  const now = Date.parse(overview.now);
  const first = overview.first ? Math.floor((Date.parse(overview.first) - now) / DAY) : -1;
  const slider = el("input", { type: "range", id: "moment", min: first, max: AHEAD, step: 1, value: params.get("at") ?? 0, list: "moments", "aria-describedby": "moment-said" });
  const onDay = (days) => new Date(now + days * DAY).toISOString().slice(0, 10);
  const date = el("input", { type: "date", id: "date", min: onDay(first), max: onDay(AHEAD), value: onDay(Number(slider.value)), onchange: () => {
    if (!date.validity.valid || !date.value) return;
    slider.value = Math.round((Date.parse(date.value) - Date.parse(onDay(0))) / DAY);
    tell();
    look();
  } });
  const today = el("button", { class: "plain", onclick: () => { slider.value = 0; tell(); look(); } }, "today");
  today.style.setProperty("--at", `${(100 * -first) / (AHEAD - first)}%`);
  const said = el("output", { id: "moment-said", for: "moment" });
  const list = el("div", { class: "found" });
  main.append(el("h1", {}, "The clock"), el("p", { class: "lead" }, "Move back to see what was known then, and ahead to see what would be left if nothing is recalled."),
    el("div", { class: "clock" }, el("p", { class: "pick" }, el("label", { for: "date" }, "Day "), date), el("label", { class: "sr", for: "moment" }, "Days from now"), slider,
      el("div", { class: "ends" }, el("span", {}, day(now + first * DAY)), today, el("span", {}, day(now + AHEAD * DAY)))),
    el("p", { class: "moment" }, said), list);
  let asked = 0;
  function tell() {
    const days = Number(slider.value);
    const at = day(now + days * DAY);
    said.textContent = days === 0 ? `Today, ${at}` : days < 0 ? `${at}, ${-days} days ago: what was known` : `${at}, in ${days} days: what would be left`;
    date.value = onDay(days);
    slider.setAttribute("aria-valuetext", said.textContent);
  }
  async function look() {
    const days = Number(slider.value);
    const number = ++asked;
    history.replaceState(null, "", `#/clock?at=${days}`);
    const shown = await attempt(() => (days <= 0 ? then(days, now, project) : ahead(days, project, look)));
    if (number === asked && shown) list.replaceChildren(...shown);
  }
  slider.addEventListener("input", tell);
  slider.addEventListener("change", look);
  tell();
  await look();
}

async function then(days, now, project) {
  const answer = await call("browse", { ...project.scope(), limit: 100, ...(days < 0 ? { as_of: new Date(now + days * DAY).toISOString() } : {}) });
  return [el("p", { class: "quiet total" }, `${memories(answer.total)} ${days < 0 ? (answer.total === 1 ? "was known" : "were known") : "in use"}.`), el("ul", { class: "rows" }, answer.memories.map((memory) => row(memory)))];
}

async function ahead(days, project, again) {
  const [left, here] = await Promise.all([call("forecast", { days, all_projects: project.isAll() }), call("browse", { ...project.scope(), limit: 100, ahead: days })]);
  const going = new Map(left.expired.map((one) => [one.id, one]));
  const kept = Object.values(left.kept).reduce((sum, number) => sum + number, 0);
  const hold = (memory) => el("button", { onclick: () => attempt(async () => { await pin(memory, true); await again(); }) }, "Pin");
  return [
    el("p", { class: "quiet total" }, `${memories(left.total_expired)} would expire, ${kept.toLocaleString("en")} kept.`),
    left.expired.length ? el("section", {}, el("h2", {}, "Gone by then"), el("ul", { class: "rows gone" }, left.expired.slice(0, 100).map((one) => el("li", { class: "row fading" },
      el("div", { class: "said" }, el("a", { class: "text", href: `#/memory/${encodeURIComponent(one.id)}` }, one.title), el("p", { class: "facts" }, el("span", { class: `layer ${one.layer}` }, one.layer), el("span", {}, `on ${day(one.at)}`), el("span", {}, one.reason))),
      el("div", { class: "beside" }, hold(one)))))) : null,
    left.moved.length ? el("section", {}, el("h2", {}, "Moved by then"), el("ul", { class: "rows small" }, left.moved.slice(0, 50).map((one) => el("li", { class: "row" }, el("div", { class: "said" }, el("a", { class: "text", href: `#/memory/${encodeURIComponent(one.id)}` }, one.title), el("p", { class: "facts" }, el("span", {}, `${one.from_layer} → ${one.to_layer}`), el("span", {}, one.reason))))))) : null,
    el("section", {}, el("h2", {}, "Still there"), el("p", { class: "quiet small" }, "What has faded is still found when it fits a question; it expires only when a rule says so."), el("ul", { class: "rows" }, here.memories.filter((one) => !going.has(one.id)).map((memory) => row(memory)))),
  ].filter(Boolean);
}
