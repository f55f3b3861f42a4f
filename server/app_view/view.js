// A view inside a chat: the review queue, or the card of a memory. It talks to the client around it by messages, as
// MCP Apps do, and to nobody else. Text only ever becomes a text node.

const view = document.body.dataset.view;
const main = document.getElementById("main");
const waiting = new Map();
let number = 0;

function send(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); // the client's origin is not ours to know; nothing secret is sent
}

function ask(method, params) {
  return new Promise((done, failed) => {
    const id = ++number;
    waiting.set(id, { done, failed });
    send({ id, method, params });
  });
}

addEventListener("message", (event) => {
  const said = event.data;
  if (event.source !== parent || said?.jsonrpc !== "2.0") return;
  if (said.method === undefined) {
    const { done, failed } = waiting.get(said.id) ?? {};
    waiting.delete(said.id);
    if (said.error) failed?.(new Error(said.error.message)); else done?.(said.result);
  } else if (said.method === "ui/notifications/tool-result") show(said.params);
  else if (said.method === "ui/notifications/host-context-changed") dress(said.params);
  else if (said.id !== undefined) send({ id: said.id, result: {} }); // ping, and the end of this view
});

/** Call a tool of the server through the client; a result that is an error is thrown. */
async function call(name, given) {
  const result = await ask("tools/call", { name, arguments: given });
  if (result.isError) throw new Error(result.content?.find((part) => part.type === "text")?.text ?? `${name} failed.`);
  return result.structuredContent ?? {};
}

function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

const notice = el("p", { class: "notice", role: "status", "aria-live": "polite" });

async function attempt(work) {
  for (const button of main.querySelectorAll("button")) button.disabled = true;
  try {
    await work();
  } catch (error) {
    notice.textContent = error.message;
    for (const button of main.querySelectorAll("button")) button.disabled = false;
  }
}

const day = (iso) => (iso ? new Date(iso).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" }) : "");

function show(result) {
  const given = result?.structuredContent ?? {};
  main.replaceChildren(...(view === "review" ? queue(given) : cards(given)), notice);
}

// -- the review queue --------------------------------------------------------------------------------------------

const VERDICTS = {
  merge: "Merge them", separate: "Keep both", bridge: "Write the connection", no_bridge: "No connection", outdated: "It is outdated",
  holds: "It still holds", revise: "Revise it", forget: "Forget it",
};
const NEEDS_TEXT = new Set(["merge", "bridge", "revise"]);

function queue(given) {
  const questions = given.questions ?? [];
  if (!questions.length) return [el("h1", {}, "Questions"), el("p", { class: "quiet" }, "No question is open.")];
  return [el("h1", {}, `Questions (${questions.length})`), el("ol", {}, questions.map(question))];
}

function question(one) {
  const texts = (one.memories ?? []).map((memory) => memory.content);
  const text = el("textarea", { rows: 4, "aria-label": "The text to keep", hidden: true });
  const choose = (verdict) => () => {
    if (NEEDS_TEXT.has(verdict) && text.hidden) {
      text.value = verdict === "revise" ? texts[0] ?? "" : texts.join("\n\n");
      text.hidden = false;
      text.focus();
      notice.textContent = "Write the text to keep, then choose again.";
      return;
    }
    attempt(async () => {
      const done = await call("review", { decisions: [{ question_id: one.id, verdict, text: NEEDS_TEXT.has(verdict) ? text.value : "" }] });
      show({ structuredContent: done });
      notice.textContent = "Answered.";
    });
  };
  return el("li", { class: "card" }, el("h2", {}, one.ask),
    el("div", { class: "sides" }, (one.memories ?? []).map((memory) => el("blockquote", {}, el("p", {}, memory.content), el("footer", {}, [memory.source, day(memory.happened_at), memory.status === "active" ? "" : memory.status].filter(Boolean).join(" · "))))),
    el("ul", { class: "evidence" }, (one.evidence ?? []).map((line) => el("li", {}, line))), text,
    el("div", { class: "actions" }, (one.verdicts ?? []).map((verdict) => el("button", { onclick: choose(verdict) }, VERDICTS[verdict] ?? verdict))));
}

// -- the card of a memory ----------------------------------------------------------------------------------------

const FRESH = { verified: "unchanged since it was seen", changed: "changed since", missing: "no longer there", unverifiable: "cannot be checked from here" };

function cards(given) {
  const memories = given.memories ?? [];
  return memories.length ? memories.map(card) : [el("p", { class: "quiet" }, "There is no such memory.")];
}

function card(memory) {
  const living = memory.status === "active" || memory.status === "challenged" || memory.status === undefined;
  const again = async () => show({ structuredContent: await call("inspect", { ids: [memory.id] }) });
  const does = (name, given) => () => attempt(async () => { await call(name, given); await again(); });
  return el("article", { class: "card" },
    el("p", { class: "content" }, memory.content),
    el("p", { class: "quiet" }, [memory.layer, memory.kind?.replaceAll("_", " "), memory.pinned ? "pinned" : "", living ? "" : memory.status, memory.project, day(memory.created_at)].filter(Boolean).join(" · ")),
    el("dl", {}, Object.entries(memory.retention ?? {}).map(([at, left]) => el("div", {}, el("dt", {}, at === "now" ? "left now" : `in ${at} days`), el("dd", {}, el("meter", { min: 0, max: 1, value: left }, `${Math.round(left * 100)} %`), ` ${Math.round(left * 100)} %`)))),
    memory.outlook ? el("p", { class: "quiet" }, memory.outlook) : null,
    (memory.anchors ?? []).length ? el("ul", { class: "evidence" }, memory.anchors.map((anchor) => el("li", {}, el("code", {}, anchor.symbol ? `${anchor.path}::${anchor.symbol}` : anchor.path), ` ${anchor.freshness === "moved" ? `→ ${anchor.now_at}` : FRESH[anchor.freshness] ?? ""}`))) : null,
    el("div", { class: "actions" }, living
      ? [el("button", { onclick: does("pin", { id: memory.id, pinned: !memory.pinned }) }, memory.pinned ? "Unpin" : "Pin"), el("button", { onclick: does("forget", { ids: [memory.id], reason: "forgotten in the chat" }) }, "Forget")]
      : el("button", { onclick: does("restore", { ids: [memory.id] }) }, "Restore")));
}

// -- the client around it ----------------------------------------------------------------------------------------

function dress(context) {
  if (context?.theme === "light" || context?.theme === "dark") document.documentElement.dataset.theme = context.theme;
}

main.replaceChildren(el("p", { class: "quiet" }, "Waiting for the answer…"), notice);
new ResizeObserver(() => send({ method: "ui/notifications/size-changed", params: { width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight } })).observe(document.documentElement);
const host = await ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "reverie", version: "1" }, appCapabilities: {} });
dress(host?.hostContext);
send({ method: "ui/notifications/initialized", params: {} });
