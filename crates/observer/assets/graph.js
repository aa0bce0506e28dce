// The graph of what waits for what. Strands that wait for each other stand in a circle, in red; the others in columns, each
// to the left of what it waits for.

const BOX = { width: 176, height: 42 };

class Graph {
  constructor() {
    this.note = element("span.count");
    this.area = element("div.drawing");
    this.root = element("div", {}, element("div.tools", {}, element("span", {}, "An arrow leads from what waits to what it waits for."), this.note), this.area);
  }

  async refresh() {
    const graph = await ask("/api/graph");
    this.note.textContent = graph.single ? `${count(graph.total)} strands`
      : `${count(graph.total)} strands, folded by where they were made`;
    const key = JSON.stringify([graph.nodes, graph.arrows, graph.cycles]);
    if (key === this.key) return;
    this.key = key;
    const focused = this.area.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    this.area.replaceChildren(draw(graph));
    if (focused) this.area.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }
}

function draw({ nodes, arrows, cycles }) {
  if (!nodes.length) return element("p.empty", {}, "Nothing waits.");
  const byId = new Map(nodes.map(node => [node.id, node]));
  arrows = arrows.filter(({ from, to }) => byId.has(from) && byId.has(to));
  const rings = cycles.map(cycle => ringOf(cycle, arrows)).filter(ring => ring.length > 1);
  const wrong = new Set(rings.flat());
  const places = new Map();
  const { below, right } = placeRings(rings, places);
  const others = nodes.filter(({ id }) => !wrong.has(id));
  const waits = new Set(arrows.filter(({ from, to }) => wrong.has(to) && !wrong.has(from)).map(({ from }) => from));
  const beside = others.filter(({ id }) => waits.has(id));
  const under = placeBeside(beside, places, right, below);
  placeColumns(others.filter(({ id }) => !waits.has(id)), arrows, places, under);
  const all = [...places.values()];
  const width = Math.max(...all.map(({ x }) => x)) + BOX.width / 2 + 24;
  const height = Math.max(...all.map(({ y }) => y)) + BOX.height / 2 + 24;
  const ringArrows = new Set(rings.flatMap(ring => ring.map((id, index) => `${id}>${ring[(index + 1) % ring.length]}`)));
  return drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Graph of waits" },
    arrows.map(arrow => drawArrow(arrow, places, ringArrows.has(`${arrow.from}>${arrow.to}`))),
    nodes.map(node => drawNode(node, places.get(node.id), wrong.has(node.id))));
}

/** The strands of a cycle with the objects between them, in order. */
function ringOf(cycle, arrows) {
  const next = new Map(arrows.map(({ from, to }) => [from, to]));
  const ring = [];
  let at = cycle[0];
  while (at && !ring.includes(at) && ring.length < 500) { ring.push(at); at = next.get(at); }
  return at === cycle[0] ? ring : [];
}

function placeRings(rings, places) {
  let left = 24;
  let below = 24;
  for (const ring of rings) {
    const radius = Math.max(110, (ring.length * (BOX.width + 20)) / (2 * Math.PI));
    const [x, y] = [left + radius + BOX.width / 2, radius + BOX.height / 2 + 24];
    ring.forEach((id, index) => {
      const angle = (2 * Math.PI * index) / ring.length - Math.PI / 2;
      places.set(id, { x: x + radius * Math.cos(angle), y: y + radius * Math.sin(angle) });
    });
    left = x + radius + BOX.width / 2 + 40;
    below = Math.max(below, y + radius + BOX.height / 2 + 40);
  }
  return { below, right: left };
}

/** Places what waits for strands in circles, to the right of these. */
function placeBeside(nodes, places, left, below) {
  const rows = Math.max(1, Math.floor((below - 24) / (BOX.height + 16)));
  nodes.forEach(({ id }, index) => {
    const [column, row] = [Math.floor(index / rows), index % rows];
    places.set(id, { x: left + 40 + BOX.width / 2 + column * (BOX.width + 16), y: 24 + BOX.height / 2 + row * (BOX.height + 16) });
  });
  return below;
}

/** Places the others: a node's column is its distance from what waits for nothing. */
function placeColumns(nodes, arrows, places, top) {
  const own = new Set(nodes.map(({ id }) => id));
  const targets = new Map(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of arrows) if (own.has(from) && own.has(to) && from !== to) targets.get(from).push(to);
  const depths = new Map();
  const depth = (id, seen) => {
    if (depths.has(id)) return depths.get(id);
    if (seen.has(id)) return 0;
    seen.add(id);
    const found = Math.max(0, ...targets.get(id).map(to => 1 + depth(to, seen)));
    depths.set(id, found);
    return found;
  };
  nodes.forEach(({ id }) => depth(id, new Set()));
  const deepest = Math.max(0, ...depths.values());
  const rows = new Map();
  const column = id => deepest - depths.get(id);
  const sorted = [...nodes].sort((one, other) => depths.get(one.id) - depths.get(other.id) || other.count - one.count);
  for (const { id } of sorted) {
    // Beside what it waits for, if there is room.
    const wanted = targets.get(id).map(to => places.get(to)).filter(Boolean);
    const middle = wanted.length ? wanted.reduce((sum, { y }) => sum + y, 0) / wanted.length : 0;
    const free = rows.get(column(id)) ?? top + BOX.height / 2;
    const y = Math.max(free, deepest ? Math.min(middle, free + 2 * BOX.height) : free);
    places.set(id, { x: 24 + BOX.width / 2 + column(id) * (BOX.width + 110), y });
    rows.set(column(id), y + BOX.height + 16);
  }
  if (!deepest) spread(sorted, places, top);
}

/** Without arrows, one column would be long: rows of four. */
function spread(nodes, places, top) {
  nodes.forEach(({ id }, index) => {
    places.set(id, { x: 24 + BOX.width / 2 + (index % 4) * (BOX.width + 16), y: top + BOX.height / 2 + Math.floor(index / 4) * (BOX.height + 16) });
  });
}

function edge(from, to) {
  // Where the line between the middles leaves the box.
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const scale = Math.min(BOX.width / 2 / Math.abs(dx || 1e-9), BOX.height / 2 / Math.abs(dy || 1e-9));
  return { x: from.x + dx * Math.min(scale, 1), y: from.y + dy * Math.min(scale, 1) };
}

function drawArrow({ from, to, text: reason, count: number }, places, isWrong) {
  const title = drawn("title", {}, number > 1 ? `${count(number)} × ${reason}` : reason);
  const mark = isWrong ? ".wrong" : "";
  if (from === to) {
    const { x, y } = places.get(from);
    const loop = `M${x + 40},${y - BOX.height / 2} c0,-34 40,-34 40,0`;
    return drawn("g", {}, drawn("path.arrow" + mark, { d: loop }), title);
  }
  const [begin, end] = [edge(places.get(from), places.get(to)), edge(places.get(to), places.get(from))];
  const angle = (Math.atan2(end.y - begin.y, end.x - begin.x) * 180) / Math.PI;
  const middle = { x: (begin.x + end.x) / 2, y: (begin.y + end.y) / 2 };
  return drawn("g", {}, title,
    drawn("path.arrow" + mark, { d: `M${begin.x},${begin.y} L${end.x},${end.y}` }),
    drawn("path.head" + mark, { d: "M0,0 l-9,-4 v8 z", transform: `translate(${end.x},${end.y}) rotate(${angle})` }),
    number > 1 ? drawn("text.quiet", { x: middle.x, y: middle.y - 5, "text-anchor": "middle" }, count(number)) : null);
}

function shortened(label, length) {
  return label.length > length ? label.slice(0, length - 1) + "…" : label;
}

function drawNode(node, { x, y }, isWrong) {
  const isGroup = node.kind === "group";
  const name = isGroup ? `${count(node.count)} × ${node.name}` : node.name;
  const below = isGroup ? (node.place ? node.place.function : node.waiting ? `${count(node.waiting)} wait` : "")
    : node.place ? `${file(node.place)}` : "";
  const open = node.strand ? () => showStrand(node.strand)
    : isGroup && node.origin_number !== null ? () => showView("Strands", { kind: node.strands, origin: node.origin_number }) : null;
  const label = [name, node.text, node.place && `${node.place.function} ${file(node.place)}`].filter(Boolean).join(", ");
  return drawn(["g.node", node.kind, node.state, isWrong ? "wrong" : ""].join("."), {
    transform: `translate(${x - BOX.width / 2},${y - BOX.height / 2})`,
    tabindex: open ? "0" : null,
    role: open ? "button" : null,
    "aria-label": label,
    "data-id": node.id,
    onclick: open,
    onkeydown: open && (event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } }),
  }, drawn("title", {}, label),
    drawn("rect", { width: BOX.width, height: BOX.height, rx: 6 }),
    drawn("text", { x: BOX.width / 2, y: below ? 18 : 26, "text-anchor": "middle" }, shortened(name, 27)),
    below ? drawn("text.quiet", { x: BOX.width / 2, y: 34, "text-anchor": "middle" }, shortened(below, 29)) : null);
}
