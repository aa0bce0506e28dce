// The time view, a space–time diagram: a lane for each vat and each other strand, time from left to right, an arrow for each
// message from where it was sent to the turn that it began. The program notes events only while this view is shown.

const LANES = 40;
const SPANS = [["5 ms", 5], ["20 ms", 20], ["100 ms", 100], ["500 ms", 500], ["2 s", 2000]];

class TimeView {
  constructor() {
    this.events = [];
    this.last = 0;
    this.span = 20;
    this.note = element("span.count");
    this.area = element("div.drawing");
    const list = element("select", { id: "span", onchange: () => { this.span = Number(list.value); this.paint(); } },
      SPANS.map(([name, value]) => element("option", { value, selected: value === this.span }, name)));
    this.root = element("div", {}, element("div.tools", {}, element("label", { for: "span" }, "Span"), list,
      link("Hold or go on", () => setHold(!isHeld)), this.note), this.area);
  }

  async refresh() {
    const answer = await ask("/api/events", { after: this.last });
    this.last = answer.last;
    this.events.push(...answer.rows);
    this.events.splice(0, Math.max(0, this.events.length - 12_000));
    this.lost = answer.lost;
    this.paint();
  }

  paint() {
    if (!this.events.length) {
      this.area.replaceChildren(element("p.empty", {}, "Nothing has happened since this view was opened."));
      return;
    }
    const end = this.events[this.events.length - 1].time;
    const begin = end - this.span * 1e6;
    const shown = this.events.filter(event => event.time >= begin);
    const lanes = lanesOf(shown);
    this.note.textContent = `${count(shown.length)} events on ${count(lanes.all)} lanes`
      + (lanes.all > LANES ? `, the ${LANES} busiest are shown` : "") + (this.lost ? `; ${count(this.lost)} lost` : "");
    this.area.replaceChildren(diagram(shown, lanes.rows, begin, end, Math.max(680, this.area.clientWidth - 4)));
  }
}

/** The busiest lanes: vats first, then strands, by number. */
function lanesOf(events) {
  const counts = new Map();
  const add = name => counts.set(name, (counts.get(name) || 0) + 1);
  for (const { kind, track, fields } of events) {
    if (!track.startsWith("worker")) add(track);
    if (kind === "message sent") add(`vat ${fields.message.vat}`);
  }
  const order = name => [name.startsWith("vat") ? 0 : 1, Number(name.split(" ")[1])];
  const names = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one)).slice(0, LANES);
  names.sort((one, other) => { const [a, b] = [order(one), order(other)]; return a[0] - b[0] || a[1] - b[1]; });
  return { all: counts.size, rows: names };
}

function diagram(events, lanes, begin, end, width) {
  const [left, top, row] = [96, 26, 26];
  const height = top + lanes.length * row + 8;
  const x = time => left + ((width - left - 12) * Math.max(0, time - begin)) / Math.max(1, end - begin);
  const y = lane => top + lanes.indexOf(lane) * row + row / 2;
  const has = lane => lanes.includes(lane);
  const parts = [];
  const back = [];
  const open = new Map();
  const sent = new Map();
  const box = (kind, lane, from, to, label) => parts.push(drawn("rect." + kind,
    { x: x(from), y: y(lane) - 7, width: Math.max(1.5, x(to) - x(from)), height: 14, rx: 2 }, drawn("title", {}, label)));
  for (const { kind, time, track, fields } of events) {
    const key = kind.split(" ")[0] + track;
    if (kind === "collection begun") open.set("collection", time);
    if (kind === "collection ended") {
      const from = open.get("collection") ?? begin;
      back.push(drawn("rect.collection", { x: x(from), y: 0, width: Math.max(1.5, x(time) - x(from)), height }, drawn("title", {}, "collection")));
    }
    if (kind === "message sent") sent.set(fields.message.id, { time, track });
    if (kind === "turn begun" && has(track)) {
      const name = `${fields.receiver || ""} ${fields.site ? fields.site.selector : ""}`.trim();
      open.set(key, { time, name });
      const from = sent.get(fields.message.id);
      if (from && has(from.track) && from.track !== track) {
        parts.push(drawn("path.message", { d: `M${x(from.time)},${y(from.track)} L${x(time)},${y(track)}` }));
      }
    }
    if (kind === "turn ended" && has(track)) {
      const turn = open.get(key) || { time: begin, name: "turn" };
      box("turn", track, turn.time, time, `${turn.name}, ${duration((time - turn.time) / 1e6)}`);
      open.delete(key);
    }
    if (!track.startsWith("strand") && kind !== "strand blocked" && kind !== "strand resumed") continue;
    if (kind === "strand resumed" && has(track)) {
      const wait = open.get("wait" + track);
      if (wait) parts.push(drawn("line.wait", { x1: x(wait.time), x2: x(time), y1: y(track), y2: y(track) }, drawn("title", {}, `waits for ${wait.reason}, ${duration((time - wait.time) / 1e6)}`)));
      open.delete("wait" + track);
      open.set("run" + track, time);
    }
    if (kind === "strand blocked" && has(track)) {
      if (track.startsWith("strand")) box("run", track, open.get("run" + track) ?? begin, time, "runs");
      open.delete("run" + track);
      open.set("wait" + track, { time, reason: fields.reason });
    }
  }
  for (const [key, value] of open) {
    const track = key.replace(/^(wait|turn)/, "");
    if (key.startsWith("wait") && has(track)) parts.push(drawn("line.wait", { x1: x(value.time), x2: x(end), y1: y(track), y2: y(track) }, drawn("title", {}, `waits for ${value.reason}`)));
    if (key.startsWith("turn") && has(track)) box("turn", track, value.time, end, `${value.name}, not ended`);
  }
  const ticks = Array.from({ length: 6 }, (_, index) => begin + ((end - begin) * index) / 5);
  return drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Space–time diagram" },
    back,
    ticks.map(time => drawn("text.quiet", { x: x(time), y: 14, "text-anchor": time === end ? "end" : "middle" }, time === end ? "now" : `−${duration((end - time) / 1e6)}`)),
    lanes.map(lane => [drawn("line.lane", { x1: left, x2: width - 12, y1: y(lane), y2: y(lane) }),
      drawn("text.quiet", { x: left - 8, y: y(lane) + 4, "text-anchor": "end" }, lane)]).flat(),
    parts);
}
