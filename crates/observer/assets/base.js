"use strict";
// What all views use: requests, elements, numbers, places and sources.

const token = new URLSearchParams(location.search).get("token") || "";

/** Asks the server; an answer with an error is thrown. */
async function ask(path, parameters = {}, method = "GET") {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "" && value !== null && value !== undefined) query.set(name, value);
  }
  const options = { method, headers: { Authorization: "Bearer " + token }, cache: "no-store" };
  const answer = await fetch(query.size ? `${path}?${query}` : path, options);
  const json = await answer.json();
  if (json.error) throw new Error(json.error);
  return json;
}

/** An element. Names with a dot have classes; `on…` are listeners; texts are never read as HTML. */
function element(name, properties = {}, ...parts) {
  const [tag, ...classes] = name.split(".");
  return fill(document.createElement(tag), classes, properties, parts);
}

function drawn(name, properties = {}, ...parts) {
  const [tag, ...classes] = name.split(".");
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), classes, properties, parts);
}

function fill(made, classes, properties, parts) {
  for (const name of classes) if (name) made.classList.add(name);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...parts.flat(Infinity).filter(part => part !== null && part !== undefined));
  return made;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const count = number => grouped.format(number);

function compact(number) {
  if (number < 10_000) return grouped.format(number);
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(number);
}

function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
  return `${number >= 100 || unit === 0 ? number.toFixed(0) : number.toFixed(1)} ${units[unit]}`;
}

function duration(milliseconds) {
  if (milliseconds < 1) return `${(milliseconds * 1000).toFixed(0)} µs`;
  if (milliseconds < 1000) return `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function file(place) {
  const name = place.path.split("/").pop();
  return `${name}:${place.line}`;
}

/** The cell for a place: the function, and the file below. */
function placeParts(place) {
  if (!place) return ["–"];
  return [element("span.code", { title: `${place.path}:${place.line}:${place.column}` }, place.function),
    element("small", {}, file(place))];
}

/** Shows something that went wrong, or nothing. */
function complain(text) {
  const place = document.getElementById("alert");
  place.hidden = !text;
  place.textContent = text || "";
}

const detail = document.getElementById("detail");
let openedFrom = null;

function closeDetail() {
  if (detail.hidden) return;
  detail.hidden = true;
  if (openedFrom && openedFrom.isConnected) openedFrom.focus();
}

/** Shows the detail of a strand: what it does, its stack, and the source of a place. */
async function showStrand(number) {
  openedFrom = document.activeElement;
  let strand;
  try {
    strand = await ask("/api/strand", { number });
  } catch (problem) {
    return complain(problem.message);
  }
  complain("");
  const source = element("div");
  const show = (place, button) => {
    for (const other of detail.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
    if (button) button.setAttribute("aria-current", "true");
    showSource(place, source);
  };
  const entry = place => {
    const button = element("button.code", { type: "button", class: place.library ? "code library" : "code" },
      `${place.function}  `, element("small", {}, file(place)));
    button.addEventListener("click", () => show(place, button));
    return element("li", {}, button);
  };
  const facts = [
    ["state", element("span.dot." + strand.state, {}, doing(strand))],
    ["has waited", strand.waited ? duration(strand.waited) : null],
    ["vat", strand.vat ? `${strand.vat}` : null],
    ["priority", `${strand.priority}`],
    ["held up by", strand.holder ? link(`strand ${strand.holder}`, () => showStrand(strand.holder)) : null],
  ].filter(([, value]) => value);
  detail.replaceChildren(
    element("div.top", {}, element("h2", { tabindex: "-1" }, `${strand.kind} ${strand.number}`),
      element("button", { type: "button", onclick: () => showStrand(number) }, "Look again"),
      element("button", { type: "button", onclick: closeDetail, title: "Escape" }, "Close")),
    element("dl", {}, facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    actions(strand),
    element("h3", {}, "Stack"),
    strand.stack.length ? element("ol.stack", {}, strand.stack.map(entry)) : element("p.empty", {}, "It has no stack yet."),
    ...(strand.origin ? [element("h3", {}, "Made or sent at"), element("ol.stack", {}, entry(strand.origin))] : []),
    element("h3", {}, "Source"), source);
  detail.hidden = false;
  detail.querySelector("h2").focus();
  const first = strand.place || strand.origin;
  if (first) show(first, null); else source.append(element("p.empty", {}, "–"));
}

function link(text, action) {
  return element("button", { type: "button", onclick: action }, text);
}

/** The buttons for a strand, if the user allows actions. */
function actions(strand) {
  if (!overview || !overview.control) return null;
  const act = async (path, question) => {
    if (question && !confirm(question)) return;
    try {
      const { done } = await ask(path, { number: strand.number }, "POST");
      complain(done ? "" : "That had no effect: the strand has ended, or was in that state.");
    } catch (problem) {
      complain(problem.message);
    }
    showStrand(strand.number);
  };
  const end = `End ${strand.kind} ${strand.number}? Its ensure: blocks run, and nothing else.`;
  return element("div.tools", {},
    element("button", { type: "button", onclick: () => act("/api/strand/suspend") }, "Suspend"),
    element("button", { type: "button", onclick: () => act("/api/strand/resume") }, "Resume"),
    element("button.danger", { type: "button", onclick: () => act("/api/strand/end", end) }, "End"));
}

async function showSource(place, into) {
  try {
    const { first, line, lines, path } = await ask("/api/source", { path: place.path, line: place.line });
    const rows = lines.map((text, index) => {
      const number = first + index;
      return element(number === line ? "span.here" : "span", {}, element("b", {}, `${number}`), text || " ");
    });
    into.replaceChildren(element("p.code", {}, `${path}:${line}:${place.column}`), element("pre.source", { tabindex: "0" }, rows));
  } catch (problem) {
    into.replaceChildren(element("p.empty", {}, `${file(place)}: ${problem.message}`));
  }
}

document.addEventListener("keydown", event => {
  if (event.key === "Escape") closeDetail();
});
