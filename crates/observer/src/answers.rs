//! What the machine shows, as JSON. [`crate::routes`] calls a function for each path.
//!
//! `docs/internals/observer.md` describes the fields for scripts. Numbers of strands and vats are those of events.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};
use squall_events::table::Reason;
use squall_runtime::concurrency::census::{self, Amount, Census};
use squall_runtime::library::observation::{
    self, Activity, Glance, Kind, Look, Meeting, Origin, Place, SeenSandbox,
};

use crate::answer::Problem;
use crate::gate::Request;
use crate::rested::Timed;
use crate::sweep::{Group, Key, MOST, Question, Swept};
use crate::vats;
use crate::view::View;

/// The number in a query, which must be there.
pub fn number(request: &Request, name: &str) -> Result<u64, Problem> {
    number_in(request, name)?.ok_or_else(|| (400, format!("{name} is missing")))
}

/// The number in a query, if it is there.
fn number_in(request: &Request, name: &str) -> Result<Option<u64>, Problem> {
    request.number(name).map_err(|problem| (400, problem))
}

/// How many rows a client wants: it may want fewer than the most, which are so many.
fn limit_of(request: &Request, usual: usize, most: usize) -> Result<usize, Problem> {
    match number_in(request, "limit")? {
        None => Ok(usual),
        Some(limit) if limit <= most as u64 => Ok(limit as usize),
        Some(_) => Err((400, format!("limit is at most {most}"))),
    }
}

/// A place in a program.
pub fn place(place: Option<Place>) -> Json {
    let Some(place) = place else { return Json::Null };
    let (path, line, column) = place.position();
    json!({
        "function": place.function.name(),
        "path": path,
        "line": line,
        "column": column,
        "library": place.function.module.bytecode.is_image(),
    })
}

/// Counts by name.
fn counts(of: &HashMap<&'static str, usize>) -> Json {
    of.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect::<Map<_, _>>().into()
}

/// Counts of everything.
pub fn overview(view: &View) -> Json {
    let swept = view.strands.counts(view.vm);
    let vats = view.vats.counts(view.vm);
    let mut activities: HashMap<&str, usize> = Activity::NAMES.map(|name| (name, 0)).into();
    activities.extend(&swept.activities);
    json!({
        "program": view.options.program,
        "process": std::process::id(),
        "control": view.options.control,
        "seed": view.vm.scheduler.seed(),
        "seconds": view.began.elapsed().as_secs_f64(),
        "strands": {
            "total": swept.total,
            "states": counts(&activities),
            "kinds": counts(&swept.kinds),
            "reasons": counts(&swept.reasons),
            "cycles": swept.cycles.len(),
        },
        "vats": {
            "total": vats.total,
            "active": vats.active,
            "waiting": vats.waiting,
            "longest": vats.longest,
            "messages": vats.posted,
            "rate": vats.rate,
        },
        "heap": heap(view),
        "sweep": age(&swept),
    })
}

/// How old a sweep is, and how long it took.
fn age(swept: &Timed<Swept>) -> Json {
    json!({
        "milliseconds": swept.cost.as_secs_f64() * 1e3,
        "age": swept.made.elapsed().as_secs_f64() * 1e3,
    })
}

fn heap(view: &View) -> Json {
    let heap = observation::heap(view.vm);
    let pauses = |pauses: &squall_runtime::library::observation::PauseStatistics| {
        json!({
            "count": pauses.count,
            "median": pauses.median.as_secs_f64() * 1e3,
            "longest": pauses.max.as_secs_f64() * 1e3,
            "total": pauses.total.as_secs_f64() * 1e3,
        })
    };
    json!({
        "used": heap.used_bytes,
        "live": heap.live_bytes,
        "size": heap.heap_bytes,
        "most": heap.max_heap_bytes,
        "allocated": heap.allocated_bytes,
        "nursery": pauses(&heap.nursery),
        "full": pauses(&heap.full),
    })
}

/// How many rows are sent if the client says nothing, and at most.
const ROWS: (usize, usize) = (50, 500);

/// Where a page of rows begins, and how many there are.
fn page_of(request: &Request) -> Result<(usize, usize), Problem> {
    let offset = number_in(request, "offset")?.unwrap_or(0) as usize;
    let limit = limit_of(request, ROWS.0, ROWS.1)?;
    match offset.checked_add(limit) {
        Some(end) if end <= MOST => Ok((offset, limit)),
        _ => Err((400, format!("only the first {MOST} rows can be seen: filter them"))),
    }
}

fn descends(request: &Request) -> Result<bool, Problem> {
    Ok(word(request, "order", &["asc", "desc"])? == Some("desc"))
}

/// One of some words in a query, if it is there.
fn word(
    request: &Request,
    name: &str,
    words: &[&'static str],
) -> Result<Option<&'static str>, Problem> {
    let Some(value) = request.value(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let found = words.iter().find(|word| **word == value);
    found
        .map(|word| Some(*word))
        .ok_or_else(|| (400, format!("{name} is one of {}", words.join(", "))))
}

fn question(view: &View, request: &Request, count: usize) -> Result<Question, Problem> {
    let key = match request.value("sort") {
        None => Key::Number,
        Some(name) => Key::named(name).ok_or_else(|| {
            (
                400,
                "sort is one of number, kind, state, vat, waited, priority, worker, origin".into(),
            )
        })?,
    };
    let kinds =
        [Kind::Turn, Kind::Process, Kind::Thread, Kind::Branch, Kind::Green].map(Kind::name);
    let reasons = Reason::ALL.map(Reason::text);
    let reason = word(request, "reason", &reasons)?;
    let origin =
        number_in(request, "origin")?.map(|number| view.origins.origin(number)).transpose()?;
    Ok(Question {
        key,
        descends: descends(request)?,
        count,
        activity: word(request, "state", &Activity::NAMES)?,
        reason: reason.and_then(|text| Reason::ALL.into_iter().find(|it| it.text() == text)),
        kind: word(request, "kind", &kinds)?,
        vat: number_in(request, "vat")?,
        origin,
    })
}

/// Some strands, in an order.
pub fn strands(view: &View, request: &Request) -> Result<Json, Problem> {
    let (offset, limit) = page_of(request)?;
    let question = question(view, request, offset + limit)?;
    let swept = view.strands.ask(view.vm, &question);
    let rows = swept.rows.get(offset..).unwrap_or_default();
    Ok(json!({
        "total": swept.total,
        "matching": swept.matching,
        "rows": looked_at(view, rows),
        "sweep": age(&swept),
    }))
}

/// Rows of strands, with what they do just now. Those that have ended are left out.
fn looked_at(view: &View, rows: &[Glance]) -> Vec<Json> {
    let looks = observation::look_at(view.vm, rows);
    let pairs = rows.iter().zip(&looks);
    pairs.filter_map(|(glance, look)| Some(row(view, glance, look.as_ref()?))).collect()
}

fn row(view: &View, glance: &Glance, look: &Look) -> Json {
    let awaited = look.awaited.as_ref();
    json!({
        "number": glance.number,
        "kind": glance.kind.name(),
        "state": look.activity.name(),
        "reason": reason_of(look.activity),
        "suspended": look.is_suspended,
        "text": look.state,
        "vat": glance.vat,
        "waited": look.waited,
        "priority": glance.priority,
        "worker": look.worker,
        "place": place(look.place),
        "origin": place(glance.origin.and_then(Origin::place)),
        "origin_number": view.origins.number(glance.origin),
        "object": awaited.and_then(|it| it.object).map(|it| it.to_string()),
        "holder": awaited.and_then(|it| it.holder),
    })
}

fn reason_of(activity: Activity) -> Option<&'static str> {
    match activity {
        Activity::Waits(reason) => Some(reason.text()),
        _ => None,
    }
}

/// A strand with its stack.
pub fn strand(view: &View, request: &Request) -> Result<Json, Problem> {
    let number = number(request, "number")?;
    let stack = observation::stack(view.vm, number);
    let stack = stack.ok_or_else(|| (404, "this strand has ended".to_owned()))?;
    let mut answer = row(view, &stack.glance, &stack.look);
    answer["stack"] = stack.places.iter().map(|it| place(Some(*it))).collect();
    Ok(answer)
}

/// Some vats, in an order.
pub fn vats(view: &View, request: &Request) -> Result<Json, Problem> {
    let (offset, limit) = page_of(request)?;
    let key = match request.value("sort") {
        None => vats::Key::Number,
        Some(name) => vats::Key::named(name).ok_or_else(|| {
            (400, "sort is one of number, mailbox, messages, rate, state".to_owned())
        })?,
    };
    let question = vats::Question { key, descends: descends(request)?, count: offset + limit };
    let swept = view.vats.ask(view.vm, &question);
    let rows = swept.rows.get(offset..).unwrap_or_default();
    let rows = &rows[..rows.len().min(limit)];
    let glances: Vec<_> = rows.iter().map(|row| row.vat).collect();
    let turns = observation::turns_of(view.vm, &glances);
    let rows = rows.iter().zip(turns).map(|(row, turn)| {
        let vat = &row.vat;
        json!({
            "number": vat.number,
            "mailbox": vat.length,
            "messages": vat.posted,
            "rate": row.rate,
            "state": match (vat.is_stuck, vat.is_active, vat.turn) {
                (true, ..) => "stuck",
                (_, true, _) => "active",
                (_, _, 0) => "idle",
                _ => "in a turn that waits",
            },
            "turn": Some(vat.turn).filter(|turn| *turn != 0),
            "place": place(turn),
        })
    });
    Ok(json!({ "total": swept.total, "rows": rows.collect::<Vec<_>>() }))
}

/// Up to how many strands the graph has a node for each.
const SINGLE: usize = 60;
/// The most nodes for groups.
const GROUPS: usize = 40;
/// The most strands of cycles that have nodes of their own.
const IN_CYCLES: usize = 60;

/// The graph of what waits for what.
pub fn graph(view: &View) -> Json {
    let question = Question { count: SINGLE + 1, ..Question::default() };
    let swept = view.strands.ask(view.vm, &question);
    let mut graph = Graph::default();
    let is_single = swept.total <= SINGLE;
    if is_single {
        graph.add_strands(view, &swept.rows);
    } else {
        graph.add_groups(view, &swept);
        for cycle in swept.cycles.iter().take(IN_CYCLES) {
            graph.add_strands(view, &cycle[..cycle.len().min(IN_CYCLES)]);
        }
    }
    let id = |glance: &Glance| json!(format!("s{}", glance.number));
    let cycle = |cycle: &Vec<Glance>| cycle.iter().map(id).collect::<Json>();
    json!({
        "total": swept.total,
        "single": is_single,
        "nodes": graph.nodes,
        "arrows": graph.arrows,
        "cycles": swept.cycles.iter().take(IN_CYCLES).map(cycle).collect::<Json>(),
        "sweep": age(&swept),
    })
}

/// Nodes and arrows, in the order in which they were found.
#[derive(Default)]
struct Graph {
    nodes: Vec<Json>,
    indices: HashMap<String, usize>,
    arrows: Vec<Json>,
}

impl Graph {
    /// The node with this identity, which is made if there is none.
    fn node(&mut self, id: &str, make: impl FnOnce() -> Json) -> &mut Json {
        let index = *self.indices.entry(id.to_owned()).or_insert_with(|| {
            self.nodes.push(make());
            self.nodes.len() - 1
        });
        &mut self.nodes[index]
    }

    fn arrow(&mut self, from: &str, to: &str, text: &str, count: usize) {
        self.arrows.push(json!({ "from": from, "to": to, "text": text, "count": count }));
    }

    /// A node for each strand, and for each object that one waits for.
    fn add_strands(&mut self, view: &View, strands: &[Glance]) {
        let looks = observation::look_at(view.vm, strands);
        for (glance, look) in strands.iter().zip(looks) {
            let Some(look) = look else { continue };
            let id = format!("s{}", glance.number);
            let name = format!("{} {}", glance.kind.name(), glance.number);
            let state = look.activity.name();
            self.node(&id, || {
                json!({
                    "id": id,
                    "name": name,
                    "kind": "strand",
                    "state": state,
                    "strand": glance.number,
                    "count": 1,
                    "text": look.state,
                    "place": place(look.place),
                })
            });
            if let Activity::Waits(reason) = look.activity {
                self.add_wait(&id, reason, &look);
            }
        }
    }

    fn add_wait(&mut self, id: &str, reason: Reason, look: &Look) {
        let holder = look.awaited.and_then(|it| it.holder).map(|holder| format!("s{holder}"));
        let (object, name) = match (look.awaited.and_then(|it| it.object), &holder) {
            (None, Some(holder)) => return self.arrow(id, holder, "waits for its end", 1),
            (None, None) => (format!("r{}", reason as u64), reason.text().to_owned()),
            (Some(object), _) => (format!("o{object}"), format!("{} {object}", reason.text())),
        };
        self.node(&object, || json!({ "id": object, "name": name, "kind": "object", "count": 1 }));
        self.arrow(id, &object, "waits for", 1);
        if let Some(holder) = holder {
            let is_known = |arrow: &Json| arrow["from"] == object.as_str();
            if !self.arrows.iter().any(is_known) {
                self.arrow(&object, &holder, "is held up by", 1);
            }
        }
    }

    /// A node for each group of strands that were made at the same place, the largest ones.
    fn add_groups(&mut self, view: &View, swept: &Swept) {
        let mut groups: Vec<(&Group, &(usize, usize))> = swept.groups.iter().collect();
        groups.sort_by_key(|((kind, origin), (count, _))| {
            (std::cmp::Reverse(*count), *kind, *origin)
        });
        let mut ids = HashMap::new();
        for (index, ((kind, origin), (count, waiting))) in groups.iter().enumerate() {
            let is_own = index < GROUPS || groups.len() == GROUPS + 1;
            let number = view.origins.number(*origin);
            let id = if is_own { format!("g{}.{number}", *kind as u64) } else { "rest".to_owned() };
            ids.insert((*kind, *origin), id.clone());
            let node = self.node(&id, || {
                json!({
                    "id": id,
                    "name": if is_own { kind.name() } else { "others" },
                    "kind": "group",
                    "strands": kind.name(),
                    "count": 0,
                    "waiting": 0,
                    "origin_number": is_own.then_some(number),
                    "place": if is_own { place(origin.and_then(Origin::place)) } else { Json::Null },
                })
            });
            for (name, add) in [("count", count), ("waiting", waiting)] {
                node[name] = json!(node[name].as_u64().unwrap_or(0) + *add as u64);
            }
        }
        self.add_group_arrows(swept, &ids);
    }

    fn add_group_arrows(&mut self, swept: &Swept, ids: &HashMap<Group, String>) {
        let mut sums = std::collections::BTreeMap::new();
        for ((from, reason, to), count) in &swept.arrows {
            let Some(from) = ids.get(from) else { continue };
            let to = to.as_ref().and_then(|to| ids.get(to)).cloned();
            let to = to.unwrap_or_else(|| {
                let (id, name) = (format!("r{}", *reason as u64), reason.text());
                self.node(&id, || json!({ "id": id, "name": name, "kind": "object", "count": 1 }));
                id
            });
            *sums.entry((from.clone(), to, reason.text())).or_insert(0) += count;
        }
        for ((from, to, text), count) in sums {
            self.arrow(&from, &to, text, count);
        }
    }
}

/// How many waiting strands are looked at for the objects that they wait for.
const WAITING: usize = 1_000;

/// The objects that strands wait for: channels, locks and others.
pub fn objects(view: &View) -> Json {
    let question = Question { count: WAITING, activity: Some("waiting"), ..Question::default() };
    let swept = view.strands.ask(view.vm, &question);
    let looks = observation::look_at(view.vm, &swept.rows);
    let mut objects: HashMap<Meeting, Json> = HashMap::new();
    let rows = swept.rows.iter().zip(looks).filter_map(|(glance, look)| Some((glance, look?)));
    for (glance, look) in rows {
        let Some(meeting) = look.awaited.and_then(|it| it.object) else { continue };
        let object = objects.entry(meeting).or_insert_with(|| {
            json!({
                "object": meeting.to_string(),
                "kind": reason_of(look.activity),
                "holder": look.awaited.and_then(|it| it.holder),
                "waiting": 0,
                "longest": 0,
                "first": glance.number,
                "place": place(look.place),
            })
        });
        object["waiting"] = json!(object["waiting"].as_u64().unwrap_or(0) + 1);
        let longest = object["longest"].as_u64().unwrap_or(0).max(u64::from(look.waited));
        object["longest"] = json!(longest);
    }
    let mut rows: Vec<Json> = objects.into_values().collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row["waiting"].as_u64()), row["first"].as_u64()));
    json!({ "rows": rows, "looked_at": swept.rows.len(), "waiting": swept.matching })
}

/// The native threads.
pub fn workers(view: &View) -> Json {
    let workers = observation::workers(view.vm);
    let row = |worker: &observation::SeenWorker| {
        json!({
            "number": worker.number,
            "name": worker.name,
            "state": match (&worker.strand, worker.is_outside) {
                (None, _) => "idle",
                (_, true) => "outside",
                (_, false) => "running",
            },
            "strand": worker.strand.as_ref().map(|(number, _)| *number),
            "place": place(worker.strand.as_ref().and_then(|(_, place)| *place)),
        })
    };
    json!({ "rows": workers.iter().map(row).collect::<Vec<_>>() })
}

/// Transactions, and the lines in conflict.
pub fn transactions(view: &View) -> Json {
    let (counts, conflicts) = observation::transactions(view.vm);
    let counts: Map<String, Json> =
        counts.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    let of = |at: Option<(&'static squall_runtime::model::function::Function, usize)>| {
        place(at.map(|(function, pc)| Place { function, pc }))
    };
    let row = |it: &observation::SeenConflict| {
        json!({
            "count": it.count,
            "class": it.class,
            "slot": it.slot,
            "access": if it.is_write { "written" } else { "read" },
            "loser": of(it.loser),
            "writer": of(it.writer),
        })
    };
    json!({ "counts": counts, "rows": conflicts.iter().map(row).collect::<Vec<_>>() })
}

/// Some sandboxes with their budgets, in an order: by a budget, those that have used most of it come last.
pub fn sandboxes(view: &View, request: &Request) -> Result<Json, Problem> {
    const KEYS: [&str; 8] =
        ["number", "name", "state", "fuel", "heap", "strands", "messages", "time"];
    let (offset, limit) = page_of(request)?;
    let key = word(request, "sort", &KEYS)?.unwrap_or("number");
    let used = |sandbox: &SeenSandbox| {
        let budget = sandbox.budgets.iter().find(|(name, ..)| *name == key);
        budget.map_or(sandbox.number, |(_, used, _)| *used)
    };
    let mut all = observation::sandboxes(view.vm);
    match key {
        "name" => all.sort_by(|one, other| one.name.cmp(&other.name)),
        "state" => all.sort_by_key(|sandbox| sandbox.reason),
        _ => all.sort_by_key(used),
    }
    if descends(request)? {
        all.reverse();
    }
    let row = |sandbox: &SeenSandbox| {
        let budget = |(name, used, limit): &(&'static str, u64, Option<u64>)| {
            ((*name).to_owned(), json!({ "used": used, "limit": limit }))
        };
        json!({
            "number": sandbox.number,
            "name": sandbox.name,
            "state": sandbox.reason,
            "budgets": sandbox.budgets.iter().map(budget).collect::<Map<_, _>>(),
        })
    };
    let rows = all.iter().skip(offset).take(limit).map(row);
    Ok(json!({ "total": all.len(), "rows": rows.collect::<Vec<_>>() }))
}

/// How many classes and vats of a census are shown.
const CENSUS: usize = 200;

/// The objects by class and by vat. The program stands meanwhile.
pub fn census(view: &View) -> Json {
    let Census { classes, vats } = census::take(view.vm);
    let classes = largest(classes).map(|(class, amount)| {
        json!({ "class": class, "objects": amount.objects, "bytes": amount.bytes })
    });
    let vats = largest(vats).map(
        |(vat, amount)| json!({ "vat": vat, "objects": amount.objects, "bytes": amount.bytes }),
    );
    json!({ "classes": classes.collect::<Vec<_>>(), "vats": vats.collect::<Vec<_>>() })
}

/// The largest amounts first.
fn largest<K: Ord>(amounts: HashMap<K, Amount>) -> impl Iterator<Item = (K, Amount)> {
    let mut all: Vec<(K, Amount)> = amounts.into_iter().collect();
    all.sort_by(|(a, one), (b, other)| other.bytes.cmp(&one.bytes).then_with(|| a.cmp(b)));
    all.into_iter().take(CENSUS)
}

/// The most events in an answer.
const EVENTS: usize = 4_000;

/// The events after a number.
pub fn events(view: &View, request: &Request) -> Result<Json, Problem> {
    let after = number_in(request, "after")?.unwrap_or(0);
    let limit = limit_of(request, EVENTS, EVENTS)?;
    view.window.events(after, limit).map_err(|reason| (409, reason.to_owned()))
}

/// How many lines before and after a line are shown.
const AROUND: usize = 12;

/// The lines around a line of a program's file.
pub fn source(view: &View, request: &Request) -> Result<Json, Problem> {
    let path = request.value("path").unwrap_or_default();
    let line = number(request, "line")? as usize;
    // Other files are no matter of the observer's.
    if !observation::has_module(view.vm, path) {
        return Err((404, "no module of the program is from this file".into()));
    }
    let text = (view.options.text_of)(path);
    let text = text.ok_or_else(|| (404, "this file cannot be read".to_owned()))?;
    let text = String::from_utf8_lossy(&text);
    let first = line.saturating_sub(AROUND).max(1);
    let lines: Vec<&str> = text.lines().skip(first - 1).take(2 * AROUND + 1).collect();
    Ok(json!({ "path": path, "line": line, "first": first, "lines": lines }))
}
