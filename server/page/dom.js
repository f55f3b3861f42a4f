// Building elements. Text only ever becomes a text node: nothing of a memory is read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: properties that begin with "on" are listeners, the others attributes; children are nodes or texts. */
export function el(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** Make an SVG element. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Return text with some phrases in <mark>, whatever their case. */
export function marked(text, phrases) {
  const parts = [];
  const lower = text.toLowerCase();
  let from = 0;
  for (;;) {
    let first = null;
    for (const phrase of phrases) {
      const at = phrase ? lower.indexOf(phrase.toLowerCase(), from) : -1;
      if (at >= 0 && (first === null || at < first.at)) first = { at, length: phrase.length };
    }
    if (first === null) break;
    parts.push(text.slice(from, first.at), el("mark", {}, text.slice(first.at, first.at + first.length)));
    from = first.at + first.length;
  }
  return [...parts, text.slice(from)];
}

export function counted(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

export const memories = (number) => counted(number, "memory", "memories");

const DAY = 86_400_000;

/** Say how long ago a moment was, as one would. */
export function ago(iso, now = Date.now()) {
  const days = (now - Date.parse(iso)) / DAY;
  const said = Math.abs(days);
  if (said * 1440 < 1) return "just now";
  const spoken =
    said < 1 / 24 ? counted(Math.round(said * 1440), "minute")
    : said < 1 ? counted(Math.round(said * 24), "hour")
    : said < 21 ? counted(Math.round(said), "day")
    : said < 90 ? counted(Math.round(said / 7), "week")
    : said < 700 ? counted(Math.round(said / 30.44), "month")
    : counted(Math.round(said / 365.25), "year");
  return days >= 0 ? `${spoken} ago` : `in ${spoken}`;
}

/** Write a day as people do. */
export function day(iso) {
  return new Date(iso).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

/** A moment that shows how long ago it was, and says exactly when on hovering. */
export function when(iso) {
  return el("time", { datetime: iso, title: new Date(iso).toLocaleString("en-GB") }, ago(iso));
}

export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

/** Eight characters of an id, which name it nearly always; the whole one is in the title. */
export function shortId(id) {
  return el("code", { class: "id", title: id }, id.startsWith("code-") ? id.slice(0, 13) : id.slice(0, 8));
}
