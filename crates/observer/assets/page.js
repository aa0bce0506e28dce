// The page: tabs, the summary, and the loop that refreshes what is shown.

let overview = null;
let isHeld = false;
let timer = null;
const history_ = { rate: [], used: [], waiting: [] };

class Memory {
  constructor() {
    this.facts = element("div");
    this.objects = element("div");
    this.root = element("div", {}, this.facts, element("h2", {}, "Objects"), this.objects);
    this.census = link("Count all objects", () => this.take());
  }

  /** Objects by class and by vat. */
  async take() {
    this.census.disabled = true;
    try {
      const { classes, vats } = await ask("/api/census", {}, "POST");
      const rows = (title, of, name) => element("div.scroll", {}, element("table", {}, element("thead", {}, element("tr", {},
        [title, "Objects", "Bytes"].map((heading, index) => element(index ? "th.number" : "th", { scope: "col" }, heading)))),
        element("tbody", {}, of.map(row => element("tr", {}, element("td", {}, name(row)), element("td.number", {}, count(row.objects)), element("td.number", {}, bytes(row.bytes)))))));
      this.objects.replaceChildren(element("div.tools", {}, this.census), element("div.pair", {},
        rows("Class", classes, row => row.class), rows("Vat", vats, row => (row.vat ? `vat ${row.vat}` : "the library, and what vats share"))));
      complain("");
    } catch (problem) { complain(problem.message); }
    this.census.disabled = false;
  }

  async refresh() {
    const { heap } = overview;
    if (!this.objects.firstChild) {
      this.objects.append(overview.control ? element("div.tools", {}, this.census, element("span", {}, "The program stands meanwhile."))
        : element("p.empty", {}, "Counting stops the program for a moment, so it needs squall run --observe=PORT,control."));
    }
    const fact = (name, value) => element("tr", {}, element("th", { scope: "row" }, name), element("td.number", {}, value));
    const pauses = (name, { count: number, median, longest, total }) => element("tr", {}, element("th", { scope: "row" }, name),
      [count(number), duration(median), duration(longest), duration(total)].map(value => element("td.number", {}, value)));
    this.facts.replaceChildren(
      element("div.scroll", {}, element("table", {}, element("tbody", {},
        fact("In use", bytes(heap.used)), fact("Alive at the last full collection", bytes(heap.live)),
        fact("Size before the next full collection", bytes(heap.size)), fact("May grow to", bytes(heap.most)),
        fact("Allocated so far", bytes(heap.allocated))))),
      element("h2", {}, "Collections"),
      element("div.scroll", {}, element("table", {}, element("thead", {}, element("tr", {},
        ["Of", "Number", "Median pause", "Longest", "All together"].map((title, index) => element(index ? "th.number" : "th", { scope: "col" }, title)))),
        element("tbody", {}, pauses("new objects", heap.nursery), pauses("everything", heap.full)))));
  }
}

class Dump {
  constructor() {
    this.text = element("pre.source", { tabindex: "0" });
    this.root = element("div", {}, element("div.tools", {}, link("Dump all strands", () => this.dump())), this.text);
    this.text.hidden = true;
  }

  async dump() {
    try {
      const { dump } = await ask("/api/dump", {}, "POST");
      this.text.textContent = dump;
      this.text.hidden = false;
    } catch (problem) { complain(problem.message); }
  }

  async refresh() {
    if (!overview.control) this.root.replaceChildren(element("p.empty", {}, "Actions need squall run --observe=PORT,control."));
  }
}

const makers = {
  Strands: strandsTable, Vats: vatsTable, Graph: () => new Graph(), Time: () => new TimeView(), Waits: objectsTable,
  Memory: () => new Memory(), Transactions: transactionsTable, Callouts: calloutsTable, Sandboxes: sandboxesTable,
  "Native threads": workersTable, Dump: () => new Dump(),
};
const views = {};
let current = null;

/** Shows a view, with values for its filters. */
function showView(name, filters) {
  views[name] ??= makers[name]();
  if (filters) views[name].filter(filters);
  current = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isCurrent = tab.dataset.view === name;
    tab.setAttribute("aria-selected", `${isCurrent}`);
    tab.tabIndex = isCurrent ? 0 : -1;
  }
  const view = document.getElementById("view");
  view.setAttribute("aria-labelledby", "tab-" + name.replace(" ", "-"));
  view.replaceChildren(views[name].root);
  history.replaceState(null, "", "#" + encodeURIComponent(name));
  closeDetail();
  refresh();
}

function makeTabs() {
  const names = Object.keys(makers);
  const tabs = names.map(name => element("button", {
    type: "button", role: "tab", id: "tab-" + name.replace(" ", "-"), "data-view": name, "aria-controls": "view",
    onclick: () => showView(name),
  }, name));
  const list = document.getElementById("tabs");
  list.append(...tabs);
  list.addEventListener("keydown", event => {
    const at = tabs.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : step ? (at + step + tabs.length) % tabs.length : null;
    if (to === null || at < 0) return;
    event.preventDefault();
    tabs[to].focus();
    showView(names[to]);
  });
}

function tile(title, value, below, extra = null, isWrong = false) {
  return element(isWrong ? "div.tile.wrong" : "div.tile", {}, element("h2", {}, title), element("strong", {}, value), extra, element("p", {}, below));
}

function spark(values) {
  const most = Math.max(...values, 1);
  const points = values.map((value, index) => `${(index * 100) / Math.max(1, values.length - 1)},${23 - (22 * value) / most}`);
  return drawn("svg", { viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn("polyline.spark", { points: points.join(" ") }));
}

function summarise() {
  const { strands, vats, heap } = overview;
  const remember = (name, value) => { history_[name].push(value); if (history_[name].length > 90) history_[name].shift(); };
  remember("rate", vats.rate); remember("used", heap.used); remember("waiting", vats.waiting);
  const bar = element("div.bar", { "aria-hidden": "true" }, STATES.filter(state => strands.states[state]).map(state => {
    const part = element("i." + state, { title: `${state}: ${count(strands.states[state])}` });
    part.style.flexGrow = strands.states[state];
    return part;
  }));
  const states = STATES.filter(state => strands.states[state]).map(state => `${compact(strands.states[state])} ${state}`).join(", ");
  const reasons = Object.entries(strands.reasons).sort((one, other) => other[1] - one[1]).slice(0, 2).map(([name, number]) => `${compact(number)} for ${name}`).join(", ");
  const pauses = heap.nursery.count + heap.full.count;
  const longest = Math.max(heap.nursery.longest, heap.full.longest);
  const tiles = [
    tile("Strands", compact(strands.total), states || "none", bar),
    tile("Waits", compact(strands.states.waiting), reasons || "nothing waits"),
    tile("Messages per second", compact(vats.rate), `${compact(vats.messages)} so far`, spark(history_.rate)),
    tile("Mailboxes", compact(vats.waiting), `longest ${compact(vats.longest)}; ${compact(vats.total)} vats, ${compact(vats.active)} active`, spark(history_.waiting)),
    tile("Heap", bytes(heap.used), `of at most ${bytes(heap.most)}`, spark(history_.used)),
    tile("Collections", compact(pauses), pauses ? `longest pause ${duration(longest)}` : "none yet"),
  ];
  if (strands.cycles) {
    const show = link("Show", () => showView("Graph"));
    tiles.unshift(tile("Deadlocks", `${strands.cycles}`, show, null, true));
  }
  document.getElementById("summary").replaceChildren(...tiles);
}

/** Refreshes, and again after a second: later, if the server needs long for it. */
async function refresh() {
  clearTimeout(timer);
  const began = performance.now();
  try {
    overview = await ask("/api/overview");
    summarise();
    const shown = current;
    if (views[shown]) await views[shown].refresh();
    if (shown === current) complain("");
    const { process, seconds, sweep, control, seed } = overview;
    document.getElementById("status").textContent = `process ${process}, ${duration(seconds * 1000)}`
      + (seed === null ? "" : `, seed ${seed}`) + (control ? ", actions allowed" : "")
      + (sweep.age > 1500 ? `; strands as of ${duration(sweep.age)} ago` : "");
  } catch (problem) {
    const isGone = problem instanceof TypeError;
    complain(isGone ? "The program does not answer: it has ended, or is stopped." : problem.message);
    if (isGone) document.getElementById("status").textContent = "not connected";
  }
  clearTimeout(timer);
  if (!isHeld) timer = setTimeout(refresh, Math.max(1000, 10 * (performance.now() - began)));
}

function setHold(hold) {
  isHeld = hold;
  document.getElementById("hold").setAttribute("aria-pressed", `${hold}`);
  if (hold) clearTimeout(timer); else refresh();
}

document.getElementById("hold").addEventListener("click", () => setHold(!isHeld));
document.addEventListener("keydown", event => {
  const isTyping = event.target.closest("input, select, textarea");
  if (event.key === "p" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) setHold(!isHeld);
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && !isHeld) refresh(); else clearTimeout(timer); });
makeTabs();
const wanted = decodeURIComponent(location.hash.slice(1));
showView(makers[wanted] ? wanted : "Strands");
