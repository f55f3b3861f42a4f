// Charts, drawn as SVG. Each has a sentence for those who do not see it.

import { el, svg } from "./dom.js";

const WIDTH = 640;
const HEIGHT = 210;
const LEFT = 40;
const BOTTOM = 26;
const TOP = 12;

/** Draw how a memory fades: from its last use to a year ahead, its recalls, now, and where it would expire. */
export function curveChart(curve) {
  const first = Math.min(curve.written, curve.days[0], ...curve.recalls);
  const last = curve.days[curve.days.length - 1];
  const x = (day) => LEFT + ((day - first) / (last - first || 1)) * (WIDTH - LEFT - 12);
  const y = (left) => TOP + (1 - left) * (HEIGHT - TOP - BOTTOM);
  const line = curve.days.map((at, n) => `${n ? "L" : "M"}${x(at).toFixed(1)} ${y(curve.retention[n]).toFixed(1)}`).join("");
  const area = `${line}L${x(last).toFixed(1)} ${y(0)}L${x(curve.days[0]).toFixed(1)} ${y(0)}Z`;
  const said = `${Math.round(curve.now * 100)} percent is left now. ${curve.outlook}`;
  return el("figure", { class: "chart" },
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": said },
      [0, 0.5, 1].map((left) => [
        svg("line", { class: "grid", x1: LEFT, x2: WIDTH - 12, y1: y(left), y2: y(left) }),
        svg("text", { class: "tick", x: LEFT - 8, y: y(left) + 4, "text-anchor": "end" }, `${left * 100}`),
      ]),
      svg("line", { class: "threshold", x1: LEFT, x2: WIDTH - 12, y1: y(curve.archived_below), y2: y(curve.archived_below) }),
      svg("path", { class: "area", d: area }),
      svg("path", { class: "curve", d: line }),
      svg("line", { class: "now", x1: x(0), x2: x(0), y1: TOP, y2: y(0) }),
      svg("text", { class: "tick strong", x: x(0) + 5, y: TOP + 9 }, "now"),
      svg("circle", { class: "here", cx: x(0), cy: y(curve.now), r: 4.5 }),
      [curve.written, ...curve.recalls].map((at, n) =>
        svg("path", { class: n ? "recall" : "written", d: `M${x(at)} ${y(0) - 9}v9` },
          svg("title", {}, `${n ? "recalled" : "written"} ${Math.round(-at)} days ago`))),
      curve.ends !== null && curve.ends <= last
        ? [svg("line", { class: "end", x1: x(curve.ends), x2: x(curve.ends), y1: TOP, y2: y(0) }),
           svg("text", { class: "tick end", x: Math.min(x(curve.ends) - 4, WIDTH - 60), y: TOP + 24, "text-anchor": "end" }, "expires")]
        : null,
      dayTicks(first, last).map((at) =>
        svg("text", { class: "tick", x: x(at), y: HEIGHT - 8, "text-anchor": "middle" }, dayName(at))),
    ),
    el("figcaption", {}, curve.outlook));
}

function dayTicks(first, last) {
  const step = [7, 30, 90, 180, 365, 1825].find((size) => (last - first) / size <= 7) ?? 3650;
  const ticks = [];
  for (let at = Math.ceil(first / step) * step; at <= last; at += step) if (at !== 0) ticks.push(at);
  return ticks;
}

function dayName(at) {
  const size = Math.abs(at);
  const spoken = size >= 365 && size % 365 === 0 ? `${size / 365} y` : `${size} d`;
  return at < 0 ? `−${spoken}` : `+${spoken}`;
}

/** Draw numbers by name as bars, with the numbers in words. */
export function bars(values, name) {
  const most = Math.max(...Object.values(values), 1);
  return el("dl", { class: "bars", "aria-label": name },
    Object.entries(values).map(([label, value]) => {
      const bar = el("span", { class: "bar" });
      bar.style.setProperty("--share", String(value / most));
      return el("div", {}, el("dt", {}, label), el("dd", {}, bar, el("span", { class: "number" }, value.toLocaleString("en"))));
    }));
}

/** Draw counts over time as columns. */
export function columns(values, name) {
  const entries = Object.entries(values);
  const most = Math.max(...entries.map(([, value]) => value), 1);
  const wide = 640 / Math.max(entries.length, 6);
  return el("figure", { class: "chart" },
    svg("svg", { viewBox: "0 0 640 140", role: "img", "aria-label": `${name}: ${entries.map(([m, n]) => `${m} ${n}`).join(", ")}` },
      entries.map(([label, value], n) => [
        svg("rect", { class: "column", x: n * wide + wide * 0.15, width: wide * 0.7, y: 112 - (value / most) * 92, height: (value / most) * 92, rx: 2 },
          svg("title", {}, `${label}: ${value}`)),
        entries.length <= 12 || n % Math.ceil(entries.length / 8) === 0
          ? svg("text", { class: "tick", x: n * wide + wide / 2, y: 132, "text-anchor": "middle" }, label)
          : null,
        entries.length <= 16
          ? svg("text", { class: "tick strong", x: n * wide + wide / 2, y: 106 - (value / most) * 92, "text-anchor": "middle" }, String(value))
          : null,
      ])));
}

/** Draw durations one after the other, with a line that one in twenty passes. */
export function strip(times, p95) {
  const most = Math.max(...times, 1);
  const wide = 640 / Math.max(times.length, 40);
  const y = (value) => 96 - (value / most) * 84;
  return el("figure", { class: "chart" },
    svg("svg", { viewBox: "0 0 640 110", role: "img", "aria-label": `The last ${times.length} durations; the longest took ${most.toFixed(0)} milliseconds` },
      svg("line", { class: "grid", x1: 0, x2: 640, y1: 96, y2: 96 }),
      times.map((value, n) => svg("rect", { class: "column", x: (n * wide + wide * 0.15).toFixed(1), width: (wide * 0.7).toFixed(1), y: y(value).toFixed(1), height: Math.max(1, 96 - y(value)).toFixed(1) }, svg("title", {}, `${value.toFixed(0)} ms`))),
      svg("line", { class: "threshold", x1: 0, x2: 640, y1: y(p95), y2: y(p95) }),
      svg("text", { class: "tick", x: 640, y: Math.max(10, y(p95) - 4), "text-anchor": "end" }, `${p95.toFixed(0)} ms`)));
}

/** A small meter of a share between 0 and 1. */
export function meter(share, name) {
  const bar = el("span", { class: "meter", role: "img", "aria-label": `${name} ${Math.round(share * 100)} percent` });
  bar.style.setProperty("--share", String(Math.max(0, Math.min(1, share))));
  return bar;
}
