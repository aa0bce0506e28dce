// Views that are tables. A table asks for the rows that it shows, and the server sorts.

const ROWS = 50;

/** A table: `columns` have a title, a cell, and a key if the server can sort by it. */
class Table {
  constructor({ path, columns, parameters = {}, filters = [], open, sort, note, empty, actions }) {
    Object.assign(this, { path, columns, parameters, filters, open, note, empty, actions });
    [this.sort, this.descends] = sort || [null, false];
    this.offset = 0;
    this.make();
  }

  make() {
    this.number = element("span.count");
    this.tools = element("div.tools", {}, this.filters.map(filter => this.select(filter)), this.actions, this.number);
    this.headings = this.columns.map(column => this.heading(column));
    this.body = element("tbody");
    this.back = element("button", { type: "button", onclick: () => this.turn(-ROWS) }, "Earlier rows");
    this.on = element("button", { type: "button", onclick: () => this.turn(ROWS) }, "Later rows");
    this.root = element("div", {}, this.tools,
      element("div.scroll", {}, element("table", {}, element("thead", {}, element("tr", {}, this.headings)), this.body)),
      element("div.tools", {}, this.back, this.on));
  }

  select({ name, label, values }) {
    const id = "filter-" + name;
    const list = element("select", { id, onchange: () => { this.parameters[name] = list.value; this.offset = 0; refresh(); } },
      element("option", { value: "" }, "any"), values.map(value => element("option", { value }, value)));
    this.lists = { ...this.lists, [name]: list };
    return [element("label", { for: id }, label), list];
  }

  /** Shows the rows with these values of filters. */
  filter(values) {
    this.parameters = { ...values };
    this.offset = 0;
    for (const [name, list] of Object.entries(this.lists || {})) list.value = values[name] || "";
  }

  heading({ title, key, number, minor }) {
    const made = element("th", { scope: "col", class: [number && "number", minor && "minor"].filter(Boolean).join(" ") || null });
    if (!key) { made.append(title); return made; }
    made.append(element("button", { type: "button", onclick: () => this.sortBy(key) }, title));
    return made;
  }

  sortBy(key) {
    this.descends = this.sort === key ? !this.descends : true;
    this.sort = key;
    this.offset = 0;
    refresh();
  }

  turn(rows) {
    this.offset = Math.max(0, this.offset + rows);
    refresh();
  }

  async refresh() {
    const order = this.sort ? { sort: this.sort, order: this.descends ? "desc" : "asc" } : {};
    const answer = await ask(this.path, { ...this.parameters, ...order, offset: this.offset, limit: ROWS });
    this.show(answer);
  }

  show(answer) {
    const total = answer.matching ?? answer.total ?? answer.rows.length;
    this.columns.forEach(({ key }, index) => {
      const direction = key === this.sort && key ? (this.descends ? "descending" : "ascending") : null;
      direction ? this.headings[index].setAttribute("aria-sort", direction) : this.headings[index].removeAttribute("aria-sort");
    });
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    this.body.replaceChildren(...answer.rows.map(row => this.row(row)));
    if (focused) this.body.querySelector(`[data-id="${focused}"]`)?.focus();
    if (!answer.rows.length) {
      this.body.append(element("tr", {}, element("td.empty", { colspan: this.columns.length }, this.empty || "There are none.")));
    }
    const end = this.offset + answer.rows.length;
    const from = answer.rows.length && total > answer.rows.length ? `${count(this.offset + 1)}–${count(end)} of ` : "";
    this.number.textContent = this.note ? this.note(answer) : `${from}${count(total)}`;
    this.back.hidden = this.offset === 0;
    this.on.hidden = end >= total || !answer.rows.length;
  }

  row(row) {
    const open = this.open && (() => this.open(row));
    const cells = this.columns.map(({ cell, number, minor }) => {
      const parts = [cell(row)].flat();
      return element("td", { class: [number && "number", minor && "minor"].filter(Boolean).join(" ") || null }, parts);
    });
    return element("tr", {
      "data-id": `${row.number ?? row.object ?? ""}`,
      tabindex: open ? "0" : null,
      onclick: open,
      onkeydown: open && (event => { if (event.key === "Enter" && event.target === event.currentTarget) open(); }),
    }, cells);
  }
}

const text = value => (value === null || value === undefined || value === "" ? "–" : `${value}`);

/** What a strand does; one that is suspended may wait for something else, too. */
const doing = strand => (strand.suspended && strand.state !== "suspended" ? `${strand.text}; suspended` : strand.text);

const STATES = ["running", "outside", "ready", "new", "waiting", "suspended"];
const REASONS = ["a channel", "a lock", "a condition", "a semaphore", "a barrier", "a bucket", "the end of a strand",
  "a promise", "room in a mailbox", "a transaction", "branches", "a time", "the system", "something"];
const KINDS = ["turn", "process", "thread", "branch", "green thread"];

function strandsTable() {
  return new Table({
    path: "/api/strands",
    sort: ["waited", true],
    filters: [
      { name: "state", label: "State", values: STATES },
      { name: "reason", label: "Waits for", values: REASONS },
      { name: "kind", label: "Kind", values: KINDS },
    ],
    open: row => showStrand(row.number),
    columns: [
      { title: "Strand", key: "number", cell: row => `${row.kind} ${row.number}` },
      { title: "Does", key: "state", cell: row => element("span.dot." + row.state, {}, doing(row)) },
      { title: "For", key: "waited", number: true, cell: row => (row.waited ? duration(row.waited) : "–") },
      { title: "Stands at", cell: row => placeParts(row.place) },
      { title: "Made or sent at", key: "origin", minor: true, cell: row => placeParts(row.origin) },
      { title: "Vat", key: "vat", number: true, minor: true, cell: row => text(row.vat || null) },
      { title: "Priority", key: "priority", number: true, minor: true, cell: row => text(row.priority) },
      { title: "Worker", key: "worker", number: true, minor: true, cell: row => text(row.worker) },
    ],
  });
}

function vatsTable() {
  return new Table({
    path: "/api/vats",
    sort: ["mailbox", true],
    open: row => (row.turn ? showStrand(row.turn) : showView("Strands", { vat: row.number })),
    columns: [
      { title: "Vat", key: "number", cell: row => `vat ${row.number}` },
      { title: "State", key: "state", cell: row => row.state },
      { title: "Mailbox", key: "mailbox", number: true, cell: row => count(row.mailbox) },
      { title: "Messages/s", key: "rate", number: true, cell: row => (row.rate === null ? "–" : count(row.rate)) },
      { title: "Messages", key: "messages", number: true, minor: true, cell: row => count(row.messages) },
      { title: "Turn", cell: row => placeParts(row.place) },
    ],
  });
}

function objectsTable() {
  return new Table({
    path: "/api/objects",
    note: answer => `${count(answer.rows.length)} objects, of the first ${count(answer.looked_at)} of ${count(answer.waiting)} waiting strands`,
    empty: "No strand waits at a channel, a lock or the like.",
    open: row => showStrand(row.holder || row.first),
    columns: [
      { title: "Object", cell: row => `${row.kind} ${row.object}` },
      { title: "Waiting", number: true, cell: row => count(row.waiting) },
      { title: "Longest", number: true, cell: row => duration(row.longest) },
      { title: "Held by", cell: row => (row.holder ? `strand ${row.holder}` : "–") },
      { title: "Waited for at", cell: row => placeParts(row.place) },
    ],
  });
}

function calloutsTable() {
  return new Table({
    path: "/api/strands",
    sort: ["number", false],
    parameters: { state: "outside" },
    empty: "No strand is in C, in a file, or elsewhere outside.",
    open: row => showStrand(row.number),
    columns: [
      { title: "Strand", key: "number", cell: row => `${row.kind} ${row.number}` },
      { title: "Worker", key: "worker", number: true, cell: row => text(row.worker) },
      { title: "Called at", cell: row => placeParts(row.place) },
    ],
  });
}

function workersTable() {
  return new Table({
    path: "/api/workers",
    open: row => row.strand && showStrand(row.strand),
    columns: [
      { title: "Native thread", cell: row => (row.name ? `${row.name} (worker ${row.number})` : `worker ${row.number}`) },
      { title: "State", cell: row => element("span.dot." + (row.state === "idle" ? "waiting" : row.state), {}, row.state) },
      { title: "Strand", number: true, cell: row => text(row.strand) },
      { title: "Stands at", cell: row => placeParts(row.place) },
    ],
  });
}

function transactionsTable() {
  return new Table({
    path: "/api/transactions",
    note: ({ counts }) => `${count(counts.committed)} committed of ${count(counts.begun)} begun; `
      + `${count(counts.changed + counts.busy + counts.reserved)} lost, ${count(counts.retried)} retried`,
    empty: "No transaction has lost a conflict.",
    columns: [
      { title: "Conflicts", number: true, cell: row => count(row.count) },
      { title: "On", cell: row => `${row.class} ${row.slot}` },
      { title: "Lost, because it was", cell: row => [row.access, ...placeParts(row.loser)] },
      { title: "Written at", cell: row => placeParts(row.writer) },
    ],
  });
}

function budgetText({ used, limit }, name) {
  const shown = name === "heap" ? bytes : count;
  return limit === null ? (used ? shown(used) : "–") : `${shown(used)} of ${shown(limit)}`;
}

function sandboxesTable() {
  const end = async row => {
    if (!confirm(`End the sandbox ${row.name}?`)) return;
    try { await ask("/api/sandbox/end", { number: row.number }, "POST"); } catch (problem) { complain(problem.message); }
    refresh();
  };
  const names = ["fuel", "heap", "strands", "messages", "time"];
  return new Table({
    path: "/api/sandboxes",
    sort: ["name", false],
    empty: "The program has made no sandbox.",
    columns: [
      { title: "Sandbox", key: "name", cell: row => text(row.name) },
      { title: "State", key: "state", cell: row => row.state },
      ...names.map(name => ({ title: name[0].toUpperCase() + name.slice(1), key: name, number: true,
        cell: row => budgetText(row.budgets[name], name) })),
      { title: "Number", key: "number", number: true, minor: true, cell: row => text(row.number) },
      { title: "", cell: row => (overview?.control && row.state === "live"
        ? element("button.danger", { type: "button", onclick: () => end(row) }, "End") : "") },
    ],
  });
}
