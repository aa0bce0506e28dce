// Sessions of a client that is not ours with the debugger: `DebugClient` of `@vscode/debugadapter-testsupport` (npm),
// with which adapters for Visual Studio Code are tested. `cargo xtask editors` runs it:
//
//     SQUALL=FILE node dap_sessions.js [--modules=FOLDER] [--only=WORD]
//
// FOLDER is one in whose `node_modules` the package is; without it, Node looks where it usually does, `NODE_PATH`
// included. With `--only`, only sessions run whose names have the word in them; with TRACE=1 in the environment,
// messages are shown.
//
// Each session has an adapter of its own; the programs are those of `tests/debugger`. Prints a line for each session,
// `passed: NAME` or `FAILED: NAME: WHY`, then the counts, and ends with 0 if all have passed. Places in the tables are
// written as `FUNCTION LINE:COLUMN`.

"use strict";

const assert = require("node:assert/strict");
const { spawn, spawnSync } = require("node:child_process");
const { createRequire } = require("node:module");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");

const ROOT = path.resolve(__dirname, "../..");
const SQUALL = path.resolve(process.env.SQUALL ?? path.join(ROOT, "target/release/squall"));
// How long anything may take, in milliseconds.
const LIMIT = 60_000;

function option(name) {
  const found = process.argv.slice(2).find((each) => each.startsWith(`--${name}=`));
  return found?.slice(name.length + 3);
}

function client() {
  const folder = option("modules");
  const load = folder ? createRequire(path.join(path.resolve(folder), "package.json")) : require;
  return load("@vscode/debugadapter-testsupport").DebugClient;
}

const DebugClient = client();

// What the programs write to their standard output, and their exit codes: without a debugger, and with one.
const PROGRAMS = {
  actors: ["8\n5\n", 0],
  concurrency: ["42\n2\n3\n", 0],
  exceptions: ["2\n", 1],
  lost: ["15\n", 0],
  origins: ["7\n2\n4\n", 0],
  parts: ["3\n33\n1\n", 3],
  past: ["200\n200\n51\n12\n", 0],
  session_promises: ["1\n", 0],
  steps: ["13\n31\n", 7],
  turns: ["2\n", 0],
  watches: ["20000\n20000\n51\n12\n", 0],
};

function file(program) {
  return path.join(ROOT, "tests/debugger", `${program}.ns`);
}

// A promise that fails if it takes too long.
async function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} does not come within ${LIMIT / 1000} s`)), LIMIT);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// The client, with a trace, and with the messages' numbers looked at.
class Client extends DebugClient {
  constructor() {
    // Of a process group of its own, so that a failed session can end the program, too.
    super(SQUALL, "debug", "squall", { cwd: ROOT, detached: true }, true);
    this.defaultTimeout = LIMIT;
    this.last = 0;
    this.disorder = null;
  }

  dispatch(body) {
    if (process.env.TRACE) console.log(`< ${body.slice(0, 500)}`);
    const { seq } = JSON.parse(body);
    if (!(seq > this.last)) this.disorder = `message ${seq} comes after ${this.last}`;
    this.last = seq;
    super.dispatch(body);
  }

  doSend(command, args, answered) {
    if (process.env.TRACE) console.log(`> ${command} ${JSON.stringify(args)}`);
    super.doSend(command, args, answered);
  }
}

// Events each of which a session has to expect.
const TOLD_ONCE = ["stopped", "exited", "terminated"];
const EVENTS = [...TOLD_ONCE, "initialized", "capabilities", "continued", "output", "breakpoint"];

// A session: the client, the events that have come, and what the program has written.
class Session {
  constructor() {
    this.client = new Client();
    this.events = [];
    this.waiting = [];
    this.outputs = { stdout: "", stderr: "", console: "" };
    this.lateOutput = false;
    for (const name of EVENTS) this.client.on(name, (event) => this.heard(event));
  }

  heard(event) {
    if (event.event === "output") {
      this.outputs[event.body.category] += event.body.output;
      this.lateOutput ||= this.hasExited;
    }
    if (event.event === "exited") this.hasExited = true;
    this.events.push(event);
    this.lookAgain();
  }

  lookAgain() {
    this.waiting.splice(0).forEach((look) => look());
  }

  // Waits until this answers something.
  async until(what, found) {
    const look = async () => {
      for (;;) {
        const answer = found();
        if (answer) return answer;
        if (this.isOver) throw new Error(`${what} does not come: the adapter has ended`);
        await new Promise((resolve) => this.waiting.push(resolve));
      }
    };
    return within(look(), what);
  }

  // The next event with one of these names, whenever it came.
  async event(...names) {
    return this.until(`event ${names.join(" or ")}`, () => {
      const index = this.events.findIndex((event) => names.includes(event.event));
      return index < 0 ? null : this.events.splice(index, 1)[0];
    });
  }

  async ask(command, args = {}) {
    const ended = this.ended?.then(() => Promise.reject(new Error(`${command}: the adapter has ended`)));
    const answer = this.client.send(command, args);
    return (await within(Promise.race([answer, ended ?? answer]), `the answer to ${command}`)).body;
  }

  // The reason why a request is refused.
  async refused(command, args = {}) {
    const message = await this.ask(command, args).then(() => null, (error) => error.message);
    assert.notEqual(message, null, `${command} is not refused`);
    return message;
  }

  async start() {
    await this.client.start();
    const adapter = this.client._adapterProcess;
    this.group = adapter.pid;
    // That it has ended is heard below.
    adapter.stdin.on("error", () => {});
    this.ended = new Promise((resolve) => adapter.stdout.once("close", resolve));
    this.ended.then(() => {
      this.isOver = true;
      this.lookAgain();
    });
  }

  // Launches a program as clients do: settings follow the event `initialized`.
  async launch(program, settings = {}, properties = {}) {
    this.program = program;
    await this.start();
    await this.begin(this.client.launch({ program: file(program), ...properties }), program, settings);
  }

  async attach(program, settings, properties) {
    const begun = this.client.initializeRequest().then(() => this.client.attachRequest(properties));
    await this.begin(begun, program, settings);
  }

  async begin(begun, program, settings) {
    const configured = this.client.waitForEvent("initialized").then(() => this.configure(program, settings));
    await within(Promise.all([configured, begun]), "the start");
    this.events = this.events.filter((event) => event.event !== "initialized");
  }

  async configure(program, { lines = [], functions = [], exceptions = {} }) {
    if (lines.length > 0) await this.setLines(program, lines);
    await this.ask("setFunctionBreakpoints", { breakpoints: functions });
    await this.ask("setExceptionBreakpoints", { filters: [], ...exceptions });
    await this.ask("configurationDone");
  }

  // Sets breakpoints at lines: numbers, or all that the protocol has for one.
  async setLines(program, lines) {
    const breakpoints = lines.map((line) => (typeof line === "number" ? { line } : line));
    return (await this.ask("setBreakpoints", { source: { path: file(program) }, breakpoints })).breakpoints;
  }

  async clear() {
    await this.setLines(this.program, []);
    await this.ask("setFunctionBreakpoints", { breakpoints: [] });
    await this.ask("setDataBreakpoints", { breakpoints: [] });
    await this.ask("setExceptionBreakpoints", { filters: [] });
  }

  async stack(threadId) {
    return (await this.ask("stackTrace", { threadId })).stackFrames;
  }

  // The next stop, with its stack and the program's innermost frame; fails if the program ends.
  async stop(reason) {
    const { event, body } = await this.event("stopped", "exited");
    if (event === "exited") throw new Error(`the program ends, and does not stop: ${reason ?? "any reason"}`);
    if (reason) assert.equal(body.reason, reason);
    return this.stopOf(body);
  }

  async stopOf(body) {
    const stack = await this.stack(body.threadId);
    const frame = stack.find((each) => each.presentationHint === "normal");
    assert.ok(frame, "no frame of the program is on the stack");
    const isOwn = frame.source.path === file(this.program);
    assert.ok(isOwn, `the frame is of ${JSON.stringify(frame.source)}`);
    return { ...body, stack, frame, strand: body.threadId, at: place(frame) };
  }

  async goesOn(stop) {
    return this.ask("continue", { threadId: stop.strand });
  }

  // All stops until the end, from a stop on.
  async stopsToTheEnd() {
    const stops = [];
    for (;;) {
      const next = await this.event("stopped", "exited");
      if (next.event === "exited") {
        this.events.unshift(next);
        return stops;
      }
      stops.push(await this.stopOf(next.body));
      await this.goesOn(stops.at(-1));
    }
  }

  // No more breakpoints: the program goes on to its end.
  async finish(stop, expected) {
    await this.clear();
    await this.goesOn(stop);
    await this.end(expected);
  }

  // The end of the program and of the adapter: all output, and the exit code.
  async end([stdout, code] = PROGRAMS[this.program]) {
    const exited = await this.event("exited");
    await this.event("terminated");
    await this.ask("disconnect");
    await this.gone();
    assert.equal(exited.body.exitCode, code, "the exit code");
    assert.equal(this.outputs.stdout, stdout, "the output");
    const more = this.events.filter((event) => TOLD_ONCE.includes(event.event));
    assert.deepEqual(more.map((event) => event.event), [], "more events");
  }

  // The adapter has ended.
  async gone() {
    await within(this.ended, "the adapter's end");
    assert.equal(this.client.disorder, null);
  }

  // Ends all processes of the session that are left.
  kill() {
    this.client._socket?.destroy();
    kill(this.group);
  }
}

function kill(group) {
  try {
    if (group) process.kill(-group, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function place({ name, line, column }) {
  return `${name} ${line}:${column}`;
}

// The sessions: names, functions of a session, and how often each of them is to pass.
const SESSIONS = [];

function session(name, run, times = 1) {
  SESSIONS.push({ name: times === 1 ? name : `${name}, ${times} times`, run, times });
}

// Programs alone

for (const [program, [stdout, code]] of Object.entries(PROGRAMS)) {
  session(`without a debugger ${program}`, async () => {
    const run = spawnSync(SQUALL, ["run", file(program)], { cwd: ROOT, encoding: "utf8", timeout: LIMIT });
    assert.deepEqual([run.stdout, run.status], [stdout, code]);
  });
}

// Breakpoints about concurrency, and all places where each of them stops

const CONCURRENCY = {
  "message:sender": [
    "Concurrency>>messages 30:58",
    "Concurrency>>messages 31:17",
    "Concurrency>>messages 33:22",
    "Concurrency>>messages 35:20",
  ],
  "message:receiver": [
    "accessor of Concurrency 2:45",
    "Counter class>>new 8:3",
    "Counter>>add: 12:15",
    "Counter>>add: 12:15",
    "block in Concurrency>>messages 36:13",
    "block in Concurrency>>main: 67:9",
  ],
  "async:before": ["Counter class>>new 8:3", "Counter>>add: 12:15", "Counter>>add: 12:15"],
  "async:after": [
    "Counter class>>new 9:5",
    "Counter>>add: 13:9",
    "Counter>>add: 13:9",
    "block in Concurrency>>messages 37:13",
    "block in Concurrency>>main: 67:13",
  ],
  "promise:resolver": [
    "Concurrency>>messages 34:10",
    "Counter class>>new 9:5",
    "Counter>>add: 13:9",
    "Counter>>add: 13:9",
    "block in Concurrency>>messages 37:13",
    "block in Concurrency>>main: 67:13",
  ],
  "promise:resolution": [
    "Counter>>add: 12:15",
    "block in Concurrency>>messages 36:13",
    "block in Concurrency>>main: 67:9",
  ],
  "channel:before-write": ["Concurrency>>channels 45:19", "Doubler>>run 24:11"],
  "channel:after-write": ["Concurrency>>channels 45:19", "Doubler>>run 24:11"],
  "channel:before-read": ["Doubler>>run 23:18", "Concurrency>>channels 46:16"],
  "channel:after-read": ["Doubler>>run 23:18", "Concurrency>>channels 46:16"],
  "activity:before-creation": ["Concurrency>>channels 44:25", "Concurrency>>shared 54:31"],
  "activity:begun": ["Doubler class>>from:to: 17:3", "block in Concurrency>>shared 55:7"],
  "activity:before-join": ["Concurrency>>channels 47:13", "Concurrency>>shared 56:12"],
  "activity:after-join": ["Concurrency>>channels 47:13", "Concurrency>>shared 56:12"],
  "atomic:before-start": ["block in Concurrency>>shared 55:19"],
  "atomic:before-commit": ["block in Concurrency>>shared 55:19"],
  "atomic:after-commit": ["block in Concurrency>>shared 55:19"],
  "lock:before-acquire": ["Concurrency>>shared 57:11"],
  "lock:after-acquire": ["Concurrency>>shared 57:11"],
  "lock:before-release": ["Concurrency>>shared 59:11"],
  "lock:after-release": ["Concurrency>>shared 59:11"],
};

// Shorter names.
const ALIASES = {
  "message:send": "message:sender",
  "message:receive": "message:receiver",
  "promise:resolve": "promise:resolver",
  "channel:write": "channel:before-write",
  "channel:read": "channel:before-read",
  "atomic:commit": "atomic:before-commit",
  "lock:acquire": "lock:before-acquire",
  "lock:release": "lock:before-release",
};

// Without a seed, a message may or may not have to wait for a promise.
const MAY_NOT_WAIT = ["promise:resolution"];

// The breakpoints at which a strand has stopped.
const reached = new Set();

// Sets a breakpoint with a name, and follows the program to its end. Answers the places of all stops.
async function pointStops(debug, name, meant, properties) {
  await debug.launch("concurrency", { functions: [{ name }] }, properties);
  const stops = await debug.stopsToTheEnd();
  for (const stop of stops) {
    assert.deepEqual([stop.reason, stop.description], ["function breakpoint", name]);
    assert.equal(stop.hitBreakpointIds.length, 1);
    reached.add(meant);
  }
  await debug.end();
  return stops.map((stop) => stop.at);
}

for (const [name, places] of Object.entries(CONCURRENCY)) {
  session(`breakpoint ${name}, with a seed`, async (debug) => {
    assert.deepEqual(await pointStops(debug, name, name, { seed: 3 }), places);
  });
  session(`breakpoint ${name}`, async (debug) => {
    const found = await pointStops(debug, name, name, {});
    if (!MAY_NOT_WAIT.includes(name)) return assert.deepEqual(found.sort(), [...places].sort());
    assert.ok(found.length > 0 && found.every((each) => places.includes(each)), found.join(", "));
  });
}

for (const [alias, name] of Object.entries(ALIASES)) {
  session(`breakpoint ${alias}, a shorter name`, async (debug) => {
    assert.deepEqual(await pointStops(debug, alias, name, { seed: 3 }), CONCURRENCY[name]);
  });
}

session("the list of breakpoints", async (debug) => {
  await debug.launch("concurrency", { lines: [45] });
  const stop = await debug.stop("breakpoint");
  const { breakpoints, events } = await debug.ask("squall/breakpoints");
  const names = breakpoints.map((each) => each.name);
  assert.equal(names.length, 21);
  assert.deepEqual(names, Object.keys(CONCURRENCY));
  assert.ok([...breakpoints, ...events].every((each) => each.description.length > 0));
  await debug.finish(stop);
});

session("breakpoint message:sender, from the third hit on", async (debug) => {
  await debug.launch("concurrency", { functions: [{ name: "message:sender", hitCondition: "3" }] });
  const places = (await debug.stopsToTheEnd()).map((stop) => stop.at);
  assert.deepEqual(places, CONCURRENCY["message:sender"].slice(2));
  await debug.end();
});

session("all breakpoints at once", async (debug) => {
  const functions = Object.keys(CONCURRENCY).map((name) => ({ name }));
  await debug.launch("concurrency", { functions });
  const seen = new Set();
  for (const stop of await debug.stopsToTheEnd()) {
    for (const name of stop.description.split(", ")) {
      assert.ok(CONCURRENCY[name].includes(stop.at), `${name} stops at ${stop.at}`);
      seen.add(name);
    }
  }
  await debug.end();
  const missing = Object.keys(CONCURRENCY).filter((name) => !seen.has(name));
  assert.deepEqual(missing.filter((name) => !MAY_NOT_WAIT.includes(name)), []);
});

// Runs last of these: what the ones before have reached.
session("each breakpoint was reached", async () => {
  const missing = Object.keys(CONCURRENCY).filter((name) => !reached.has(name));
  if (!option("only")) assert.deepEqual(missing, []);
});

// Steps

// A step from the first stop at a line; where it leads, and for what reason.
const ONE_WORKER = { options: ["--workers=1"] };
const SEED = { seed: 3 };
const STEPS = [
  { step: "resume", program: "concurrency", lines: [45, 46], to: "Concurrency>>channels 46:13", reason: "breakpoint" },
  { step: "over", program: "steps", lines: [36], to: "Steps>>main: 37:11" },
  { step: "over", variant: "in a method", program: "steps", lines: [10], to: "Counter>>add: 11:22" },
  { step: "into", program: "steps", lines: [36], to: "Steps>>sumTo: 17:7" },
  { step: "return", program: "steps", lines: [17], to: "Steps>>main: 36:13" },
  { step: "activity:into", program: "concurrency", lines: [44], to: "Doubler class>>from:to: 17:3" },
  {
    step: "activity:into",
    variant: "a thread",
    program: "concurrency",
    lines: [54],
    to: "block in Concurrency>>shared 55:7",
  },
  { step: "activity:return", program: "concurrency", lines: [24], to: "Concurrency>>channels 47:13" },
  {
    step: "activity:return",
    variant: "a thread",
    program: "concurrency",
    lines: [55],
    to: "Concurrency>>shared 57:11",
  },
  { step: "channel:receiver", program: "concurrency", lines: [45], to: "Doubler>>run 24:7" },
  {
    step: "channel:receiver",
    variant: "which waits",
    program: "concurrency",
    lines: [24],
    to: "Concurrency>>channels 46:21",
  },
  { step: "channel:sender", program: "concurrency", lines: [23], to: "Concurrency>>channels 46:13" },
  {
    step: "channel:sender",
    variant: "which writes later",
    program: "concurrency",
    lines: [46],
    to: "Doubler>>run 24:11",
  },
  { step: "transaction:next", program: "concurrency", lines: [55], to: "block in Concurrency>>shared 55:29" },
  { step: "transaction:commit", program: "concurrency", lines: [55], to: "block in Concurrency>>shared 55:19" },
  { step: "transaction:after", program: "concurrency", lines: [55], to: "block in Concurrency>>shared 55:19" },
  { step: "message:receiver", program: "concurrency", lines: [35], to: "Counter>>add: 12:15" },
  {
    step: "message:receiver",
    variant: "with a seed",
    properties: SEED,
    program: "concurrency",
    lines: [35],
    to: "Counter>>add: 12:15",
  },
  {
    step: "message:receiver",
    variant: "of a message without a result, to a promise",
    properties: ONE_WORKER,
    program: "session_promises",
    lines: [18],
    to: "Box>>note 11:7",
  },
  {
    step: "message:receiver",
    variant: "past a promise that no message makes",
    properties: ONE_WORKER,
    program: "session_promises",
    lines: [19],
    to: "Box>>one 7:7",
  },
  { step: "promise:resolver", program: "concurrency", lines: [35], to: "Counter>>add: 13:9" },
  {
    step: "promise:resolution",
    variant: "with one worker",
    properties: ONE_WORKER,
    program: "concurrency",
    lines: [35],
    to: "block in Concurrency>>messages 36:13",
  },
  {
    step: "promise:resolution",
    variant: "with several workers",
    times: 100,
    program: "concurrency",
    lines: [35],
    to: "block in Concurrency>>messages 36:13",
  },
  {
    step: "promise:resolution",
    variant: "with a seed",
    properties: SEED,
    program: "concurrency",
    lines: [35],
    to: "block in Concurrency>>messages 36:13",
  },
  { step: "turn:next", program: "turns", lines: [10], to: "block in Turns>>main: 11:7" },
  {
    step: "turn:next",
    variant: "with a seed",
    properties: SEED,
    program: "actors",
    lines: [30],
    to: "block in Actors>>main: 31:16",
  },
  {
    step: "turn:next",
    variant: "past one that has no code of the program",
    program: "concurrency",
    lines: [33],
    to: "block in Concurrency>>messages 36:13",
  },
  {
    step: "turn:return",
    variant: "with one worker",
    properties: ONE_WORKER,
    program: "actors",
    lines: [8],
    to: "block in Actors>>main: 31:16",
  },
  {
    step: "turn:return",
    variant: "with several workers",
    times: 100,
    program: "actors",
    lines: [8],
    to: "block in Actors>>main: 31:16",
  },
  {
    step: "turn:return",
    variant: "with a seed",
    properties: SEED,
    program: "actors",
    lines: [8],
    to: "block in Actors>>main: 31:16",
  },
];

async function stepped(debug, { step, program, lines, to, reason = "step", properties }) {
  await debug.launch(program, { lines }, properties);
  const stop = await debug.stop("breakpoint");
  assert.equal(stop.frame.line, lines[0]);
  await debug.ask("squall/step", { threadId: stop.strand, step });
  const next = await debug.stop(reason);
  assert.equal(next.at, to);
  await debug.finish(next);
}

for (const row of STEPS) {
  const name = row.variant ? `step ${row.step}, ${row.variant}` : `step ${row.step}`;
  session(name, (debug) => stepped(debug, row), row.times);
}

// The code of a program that was ended from outside.
const TERMINATED = 143;

// Whether the end is told in time must not be a matter of luck.
const END_TIMES = 20;

async function endedByStep(debug) {
  await debug.launch("concurrency", { lines: [45] });
  const stop = await debug.stop("breakpoint");
  await debug.ask("squall/step", { threadId: stop.strand, step: "stop" });
  await debug.end(["", TERMINATED]);
  assert.equal(debug.outputs.stderr, "");
}

session("step stop", endedByStep, END_TIMES);

session("the list of steps", async (debug) => {
  await debug.launch("concurrency", { lines: [45] });
  const stop = await debug.stop("breakpoint");
  const { steps } = await debug.ask("squall/steps");
  const names = [...new Set([...STEPS.map((row) => row.step), "stop"])];
  assert.equal(steps.length, 17);
  assert.deepEqual(steps.map((step) => step.name).sort(), names.sort());
  assert.ok(steps.every((step) => step.label.length > 0));
  await debug.finish(stop);
});

session("steps that are refused", async (debug) => {
  await debug.launch("concurrency", { lines: [12, 24] });
  const stop = await debug.stop("breakpoint");
  const step = (name) => debug.refused("squall/step", { threadId: stop.strand, step: name });
  assert.equal(stop.at, "Doubler>>run 24:7");
  assert.equal(await step("dance"), "there is no such step; squall/steps lists them");
  assert.equal(await step("turn:return"), "no promise waits for the result of this turn");
  await debug.goesOn(stop);
  const first = await debug.stop("breakpoint");
  // It still stands.
  assert.equal(await step("turn:return"), "no promise waits for the result of this turn");
  assert.equal((await debug.ask("evaluate", { expression: "number", frameId: first.frame.id })).result, "1");
  await debug.finish(first);
});

// Breakpoints at lines

session("the client's own scenario: hitBreakpoint", async (debug) => {
  debug.program = "steps";
  await debug.start();
  const location = { path: file("steps"), line: 36, verified: false };
  const { client } = debug;
  await within(client.hitBreakpoint({ program: file("steps") }, location), "the scenario");
  const { threads } = (await client.threadsRequest()).body;
  assert.equal(threads.length, 1);
  const next = (line) => client.assertStoppedLocation("step", { path: file("steps"), line, column: 11 });
  await within(Promise.all([next(37), client.nextRequest({ threadId: threads[0].id })]), "the step");
  const all = Promise.all([
    client.assertOutput("stdout", "13\n31\n"),
    client.waitForEvent("exited"),
    client.continueRequest({ threadId: threads[0].id }),
  ]);
  await within(all, "the end");
  debug.events = debug.events.filter((event) => event.event !== "stopped");
  await debug.end();
});

session("steps by the protocol's own requests", async (debug) => {
  await debug.launch("steps", { lines: [36] });
  let stop = await debug.stop("breakpoint");
  const places = [
    ["stepIn", "Steps>>sumTo: 17:7"],
    ["stepOut", "Steps>>main: 36:13"],
    ["stepIn", "Counter>>add: 10:16"],
    ["next", "Counter>>add: 11:22"],
    ["next", "Counter>>add: 12:9"],
    ["next", "Steps>>main: 37:11"],
  ];
  for (const [request, to] of places) {
    await debug.ask(request, { threadId: stop.strand });
    stop = await debug.stop("step");
    assert.equal(stop.at, to);
  }
  await debug.finish(stop);
});

// A breakpoint in `steps`, and what an expression is at each stop.
const BREAKPOINTS = [
  ["without a condition", { line: 29 }, "each", ["3", "9", "4"]],
  ["with a condition", { line: 19, condition: "i = 4" }, "total", ["6"]],
  ["with a condition of two parts", { line: 29, condition: "each > 3 and: [ largest = each ]" }, "each", ["9"]],
  ["with a condition that never holds", { line: 29, condition: "each = 100" }, "each", []],
  ["from the third hit on", { line: 19, hitCondition: "3" }, "i", ["3", "4", "5"]],
  ["after the third hit", { line: 19, hitCondition: "> 3" }, "i", ["4", "5"]],
  ["with a condition and hits", { line: 19, condition: "i > 1", hitCondition: ">= 3" }, "i", ["4", "5"]],
];

for (const [name, breakpoint, expression, values] of BREAKPOINTS) {
  session(`breakpoint at a line, ${name}`, async (debug) => {
    await debug.launch("steps", { lines: [breakpoint] });
    const found = [];
    for (;;) {
      const next = await debug.event("stopped", "exited");
      if (next.event === "exited") {
        debug.events.unshift(next);
        break;
      }
      const stop = await debug.stopOf(next.body);
      assert.equal(stop.reason, "breakpoint");
      assert.equal(stop.frame.line, breakpoint.line);
      found.push((await debug.ask("evaluate", { expression, frameId: stop.frame.id })).result);
      await debug.goesOn(stop);
    }
    assert.deepEqual(found, values);
    await debug.end();
  });
}

session("breakpoint of a function, with a condition", async (debug) => {
  await debug.launch("steps", { functions: [{ name: "Counter>>add:", condition: "number = 9" }] });
  const stops = await debug.stopsToTheEnd();
  // An editor shows a breakpoint at a function as one.
  assert.deepEqual(stops.map((stop) => [stop.reason, stop.at]), [["breakpoint", "Counter>>add: 10:16"]]);
  await debug.end();
});

session("log points", async (debug) => {
  const line = { line: 29, logMessage: "{each} of {largest}", condition: "each > 3" };
  await debug.launch("steps", { lines: [line] });
  assert.deepEqual(await debug.stopsToTheEnd(), []);
  // The lines are among those of the program, in order.
  await debug.end(["9 of 9\n4 of 9\n13\n31\n", 7]);
});

session("breakpoints become known when their code is loaded", async (debug) => {
  await debug.launch("steps", { lines: [36] });
  const stop = await debug.stop("breakpoint");
  const { body } = await debug.event("breakpoint");
  assert.deepEqual([body.reason, body.breakpoint.verified, body.breakpoint.line], ["changed", true, 36]);
  assert.deepEqual(stop.hitBreakpointIds, [body.breakpoint.id]);
  // The code is there now. A line without code moves to the next one that has some.
  const set = await debug.setLines("steps", [39, 22, 4000]);
  assert.deepEqual(set.map((each) => [each.verified, each.line]), [[true, 39], [true, 25], [false, undefined]]);
  await debug.finish(stop);
});

// Data breakpoints

session("data breakpoints", async (debug) => {
  await debug.launch("watches", { lines: [26] });
  let stop = await debug.stop("breakpoint");
  const info = (name) => debug.ask("dataBreakpointInfo", { name, frameId: stop.frame.id });
  const [count, sum, limit] = [await info("first count"), await info("sum"), await info("first limit")];
  assert.deepEqual([count.accessTypes, limit.dataId], [["write"], null]);
  assert.equal(limit.description, "programs do not assign limit");
  const breakpoints = [
    { dataId: count.dataId, accessType: "write", condition: "new > 20001" },
    { dataId: sum.dataId, accessType: "write", hitCondition: "2" },
  ];
  const set = await debug.ask("setDataBreakpoints", { breakpoints });
  assert.ok(set.breakpoints.every((each) => each.verified), JSON.stringify(set));
  const writes = [
    [1, "sum: 0 → 3", "block in Watches>>main: 28:38"],
    [1, "sum: 3 → 7", "block in Watches>>main: 28:38"],
    [1, "sum: 7 → 12", "block in Watches>>main: 28:38"],
    [0, "count: 20001 → 20002", "Counter>>add: 10:7"],
    [0, "count: 20002 → 20003", "Counter>>add: 10:7"],
  ];
  for (const [index, change, at] of writes) {
    await debug.goesOn(stop);
    stop = await debug.stop("data breakpoint");
    assert.deepEqual([stop.description, stop.at], [change, at]);
    assert.deepEqual(stop.hitBreakpointIds, [set.breakpoints[index].id]);
  }
  await debug.finish(stop);
});

session("a data breakpoint for a part of an object", async (debug) => {
  await debug.launch("watches", { lines: [26] });
  const stop = await debug.stop("breakpoint");
  const first = (await variables(debug, stop.frame)).find((each) => each.name === "first");
  const about = { name: "count", variablesReference: first.variablesReference };
  const { dataId } = await debug.ask("dataBreakpointInfo", about);
  await debug.ask("setDataBreakpoints", { breakpoints: [{ dataId }] });
  await debug.setLines("watches", []);
  await debug.goesOn(stop);
  const write = await debug.stop("data breakpoint");
  assert.deepEqual([write.description, write.at], ["count: 20000 → 20001", "Counter>>add: 10:7"]);
  await debug.finish(write);
});

// Exceptions: the filters, and the class, text and place of each stop

const LARGE = ["TooLarge", "TooLarge: too large", "Exceptions>>check: 8:35"];
const LAST = ["Exception", "Exception: at last", "Exceptions>>main: 21:15"];
const EXCEPTIONS = [
  ["caught and uncaught", { filters: ["all"] }, [LARGE, LARGE, LAST]],
  ["uncaught", { filters: ["uncaught"] }, [LAST]],
  ["of a class", { filterOptions: [{ filterId: "all", condition: "TooLarge" }] }, [LARGE, LARGE]],
  ["uncaught of a class", { filterOptions: [{ filterId: "uncaught", condition: "TooLarge" }] }, []],
  ["of no kind", {}, []],
];

for (const [name, exceptions, expected] of EXCEPTIONS) {
  session(`exceptions ${name}`, async (debug) => {
    await debug.launch("exceptions", { exceptions });
    for (const [exceptionId, description, at] of expected) {
      const stop = await debug.stop("exception");
      const info = await debug.ask("exceptionInfo", { threadId: stop.strand });
      assert.deepEqual([info.exceptionId, info.description, stop.at], [exceptionId, description, at]);
      assert.deepEqual([stop.description, stop.text], [exceptionId, description]);
      await debug.goesOn(stop);
    }
    await debug.end();
    assert.match(debug.outputs.stderr, /^Exception: at last\n/);
  });
}

// Variables and expressions

async function variables(debug, frame) {
  const { scopes } = await debug.ask("scopes", { frameId: frame.id });
  return (await debug.ask("variables", { variablesReference: scopes[0].variablesReference })).variables;
}

function values(list) {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

// Stops in the block of `visit:with:`, at the last element.
async function inBlock(debug) {
  await debug.launch("steps", { lines: [{ line: 29, condition: "each = 4" }] });
  return debug.stop("breakpoint");
}

session("scopes and variables", async (debug) => {
  const stop = await inBlock(debug);
  const { scopes } = await debug.ask("scopes", { frameId: stop.frame.id });
  assert.deepEqual(scopes.map((scope) => [scope.name, scope.expensive]), [["Variables", false]]);
  const all = { self: "a Steps", last: "4", largest: "9", counter: "a Counter", each: "4" };
  assert.deepEqual(values(await variables(debug, stop.frame)), all);
  const outer = stop.stack.find((frame) => frame.name === "Steps>>main:");
  const others = { self: "a Steps", args: "a ValueArray (1)", counter: "a Counter", all: "a Vector" };
  const found = values(await variables(debug, outer));
  assert.deepEqual(Object.keys(found), Object.keys(others));
  assert.equal(found.counter, others.counter);
  await debug.finish(stop);
});

session("variables with lazy children", async (debug) => {
  const stop = await inBlock(debug);
  const children = async (parent, more = {}) => {
    assert.ok(parent.variablesReference > 0, `${parent.name} has no children`);
    const args = { variablesReference: parent.variablesReference, ...more };
    return (await debug.ask("variables", args)).variables;
  };
  const visit = stop.stack.find((frame) => frame.name === "Steps>>visit:with:");
  const locals = await variables(debug, visit);
  const part = (list, name) => list.find((each) => each.name === name);
  assert.deepEqual(values(await children(part(locals, "counter"))), { count: "27" });
  const parts = await children(part(locals, "all"));
  assert.deepEqual(values(parts), { storage: "an Array (16)", firstIndex: "1", lastIndex: "3" });
  const storage = part(parts, "storage");
  assert.deepEqual([storage.indexedVariables, storage.namedVariables ?? 0], [16, 0]);
  const elements = await children(storage, { filter: "indexed", start: 0, count: 4 });
  assert.deepEqual(elements.map((each) => each.value), ["3", "9", "4", "nil"]);
  const later = await children(storage, { filter: "indexed", start: 14, count: 2 });
  assert.deepEqual(later.map((each) => each.value), ["nil", "nil"]);
  assert.deepEqual(await children(storage, { filter: "named" }), []);
  assert.equal((await children(storage)).length, 16);
  // A number has no children.
  assert.equal(part(locals, "last").variablesReference, 0);
  await debug.finish(stop);
});

const EXPRESSIONS = [
  ["each", "4"],
  ["counter count", "27"],
  ["largest * 2 + last", "22"],
  ["each = 4 and: [ largest > 8 ]", "true"],
  ["counter", "a Counter"],
  ["#seven", "#seven"],
];

for (const context of ["watch", "hover", "repl"]) {
  session(`evaluate, ${context}`, async (debug) => {
    const stop = await inBlock(debug);
    const ask = (expression) => ({ expression, context, frameId: stop.frame.id });
    for (const [expression, result] of EXPRESSIONS) {
      assert.equal((await debug.ask("evaluate", ask(expression))).result, result);
    }
    const counter = await debug.ask("evaluate", ask("counter"));
    assert.equal(counter.type, "Counter");
    const parts = await debug.ask("variables", { variablesReference: counter.variablesReference });
    assert.deepEqual(values(parts.variables), { count: "27" });
    const unknown = "there is no variable or slot unknown here";
    assert.equal(await debug.refused("evaluate", ask("unknown")), unknown);
    assert.equal(await debug.refused("evaluate", ask("each / 0")), "a division by zero");
    await debug.refused("evaluate", ask("each +"));
    await debug.finish(stop);
  });
}

session("setVariable", async (debug) => {
  const stop = await inBlock(debug);
  const { scopes } = await debug.ask("scopes", { frameId: stop.frame.id });
  const { variablesReference } = scopes[0];
  const set = (name, value, reference = variablesReference) => ({ variablesReference: reference, name, value });
  assert.equal((await debug.ask("setVariable", set("largest", "last * 10"))).value, "40");
  const locals = await variables(debug, stop.frame);
  assert.equal(values(locals).largest, "40");
  const counter = locals.find((each) => each.name === "counter");
  assert.equal((await debug.ask("setVariable", set("count", "100", counter.variablesReference))).value, "100");
  await debug.refused("setVariable", set("each", "5"));
  await debug.refused("setVariable", set("largest", "unknown"));
  const expression = { expression: "counter.count", value: "200", frameId: stop.frame.id };
  assert.equal((await debug.ask("setExpression", expression)).value, "200");
  await debug.finish(stop, ["44\n204\n", 7]);
});

session("completions", async (debug) => {
  const stop = await inBlock(debug);
  const complete = async (text, column = text.length + 1) => {
    const { targets } = await debug.ask("completions", { text, column, frameId: stop.frame.id });
    return targets.map(({ label, start, length }) => [label, start, length]);
  };
  assert.deepEqual(await complete("cou"), [["counter", 0, 3]]);
  assert.deepEqual(await complete("l"), [["largest", 0, 1], ["last", 0, 1]]);
  assert.deepEqual(await complete("1 + ea"), [["each", 4, 2]]);
  assert.deepEqual(await complete("counter.co"), [["count", 8, 2]]);
  // The cursor may be in the middle.
  assert.deepEqual(await complete("la + 1", 3), [["largest", 0, 2], ["last", 0, 2]]);
  assert.deepEqual(await complete("nothing x"), []);
  await debug.finish(stop);
});

// Pauses

// Pauses `spinning` in the loop of its process, which may not have begun yet.
async function paused(debug) {
  for (;;) {
    await debug.ask("pause", { threadId: 0 });
    const { body } = await debug.event("stopped");
    assert.equal(body.reason, "pause");
    const stack = body.threadId ? await debug.stack(body.threadId) : [];
    const frame = stack.find((each) => each.name === "Spinner>>run");
    if (frame) return { strand: body.threadId, frame };
    await debug.ask("continue", { threadId: body.threadId ?? 0 });
  }
}

async function spin(debug, properties) {
  await debug.launch("spinning", {}, properties);
  await debug.until("the output", () => debug.outputs.stdout === "spinning\n");
  return paused(debug);
}

async function stopSpinning(debug, stop) {
  const args = { expression: "self.goesOn", value: "false", frameId: stop.frame.id };
  await debug.ask("setExpression", args);
  await debug.goesOn(stop);
  await debug.end(["spinning\n", 5]);
}

const SPINNING = [
  ["in machine code", {}],
  ["without machine code", { options: ["--jit=off"] }],
  ["with a seed", SEED],
];

for (const [name, properties] of SPINNING) {
  session(`pause and continue, ${name}`, async (debug) => {
    let stop = await spin(debug, properties);
    for (let time = 0; time < 10; time += 1) {
      assert.ok([9, 10].includes(stop.frame.line), place(stop.frame));
      const goesOn = { expression: "goesOn", frameId: stop.frame.id };
      assert.equal((await debug.ask("evaluate", goesOn)).result, "true");
      await debug.goesOn(stop);
      stop = await paused(debug);
    }
    await stopSpinning(debug, stop);
  });
}

session("pause and step", async (debug) => {
  const stop = await spin(debug);
  await debug.ask("next", { threadId: stop.strand });
  const { body } = await debug.event("stopped");
  assert.equal(body.reason, "step");
  const [frame] = await debug.stack(body.threadId);
  assert.equal(frame.name, "Spinner>>run");
  await stopSpinning(debug, { strand: body.threadId, frame });
});

// A client that ends the program: the end of the session is an event in all situations, says the protocol.
async function terminated(debug) {
  await debug.ask("terminate");
  const exited = await debug.event("exited");
  assert.equal(exited.body.exitCode, TERMINATED);
  await debug.event("terminated");
  await debug.ask("disconnect");
  await debug.gone();
}

async function terminatedInPause(debug) {
  await spin(debug);
  await terminated(debug);
}

async function terminatedWhileItRuns(debug) {
  await debug.launch("spinning");
  await debug.until("the output", () => debug.outputs.stdout === "spinning\n");
  await terminated(debug);
}

session("pause and terminate", terminatedInPause, END_TIMES);
session("terminate while it runs", terminatedWhileItRuns, END_TIMES);

session("pause and disconnect", async (debug) => {
  await spin(debug);
  await debug.ask("disconnect", { terminateDebuggee: true });
  await debug.gone();
});

// Asynchronous stacks

// The frames of turns: those that run, and below each label those of the sender.
const SENDERS = [
  "Link>>forward: 16:7",
  "Link>>pass: 12:9",
  "sent by turn",
  "Link>>forward: 17:18",
  "Link>>pass: 12:9",
  "sent by turn",
  "Link>>forward: 17:18",
  "Link>>pass: 12:9",
  "sent by turn",
  "Link>>forward: 17:18",
  "Link>>pass: 12:9",
  "sent by turn 1",
  "Origins>>main: 46:17",
];

// The program's frames and the labels that name senders; numbers of turns but the first differ from run to run.
function senders(stack) {
  const labels = (frame) => frame.name.replace(/ (?!1$)\d+$/, "");
  const meant = stack.filter((frame) => frame.presentationHint !== "subtle" && !frame.name.startsWith("resolved at"));
  return meant.map((frame) => (frame.presentationHint === "label" ? labels(frame) : place(frame)));
}

for (const [name, properties] of [["", {}], [", with a seed", SEED], [", with one worker", ONE_WORKER]]) {
  session(`a stack over five turns${name}`, async (debug) => {
    await debug.launch("origins", { lines: [{ line: 16, condition: "number = 4" }] }, properties);
    const stop = await debug.stop("breakpoint");
    assert.deepEqual(senders(stop.stack), SENDERS);
    const labels = stop.stack.filter((frame) => frame.presentationHint === "label");
    assert.ok(labels.every((label) => !label.source));
    // Senders show no variables: their turns are over.
    const sender = stop.stack.find((frame) => frame.line === 17);
    assert.deepEqual((await debug.ask("scopes", { frameId: sender.id })).scopes, []);
    assert.equal(sender.source.path, file("origins"));
    await inParts(debug, stop);
    await debug.finish(stop);
  });
}

// A client may ask for a stack piece by piece.
async function inParts(debug, stop) {
  const pieces = [];
  for (let startFrame = 0; ; startFrame += 3) {
    const args = { threadId: stop.strand, startFrame, levels: 3 };
    const { stackFrames, totalFrames } = await debug.ask("stackTrace", args);
    assert.equal(totalFrames, stop.stack.length);
    if (stackFrames.length === 0) break;
    pieces.push(...stackFrames);
  }
  assert.deepEqual(pieces.map(place), stop.stack.map(place));
}

session("the stack of a reaction", async (debug) => {
  await debug.launch("origins", { lines: [48] });
  const stop = await debug.stop("breakpoint");
  assert.equal(stop.at, "block in Origins>>main: 48:9");
  const labels = stop.stack.filter((frame) => frame.presentationHint === "label").map((frame) => frame.name);
  assert.match(labels[0], /^resolved at the end of turn \d+$/);
  assert.ok(labels.includes("sent by turn 1"), labels.join(", "));
  assert.equal(place(stop.stack.at(-1)), "Origins>>main: 46:26");
  await debug.finish(stop);
});

session("the stack of a process", async (debug) => {
  await debug.launch("origins", { functions: [{ name: "Worker>>run" }] });
  const stop = await debug.stop("breakpoint");
  const expected = [
    "Worker>>run 25:7",
    "started by turn 1",
    "Origins>>spawnWorker: 34:15",
    "Origins>>main: 40:5",
  ];
  assert.deepEqual(senders(stop.stack), expected);
  await debug.finish(stop);
});

// Attaching

// A program that waits for a debugger: its port, and what it has written when it has ended.
async function waiting(program, debug, argument = "--debug=0") {
  const child = spawn(SQUALL, ["run", argument, file(program)], { cwd: ROOT, detached: true });
  debug.program = program;
  debug.attached = child.pid;
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (data) => (stdout += data));
  const announced = new Promise((resolve) => {
    child.stderr.on("data", (data) => {
      stderr += data;
      const port = /(\d+)\n/.exec(stderr);
      if (port) resolve(Number(port[1]));
    });
  });
  const ended = new Promise((resolve) => child.on("close", (code) => resolve([stdout, code])));
  return { port: await within(announced, "the port"), ended, child };
}

async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function unchanged(program, name) {
  assert.deepEqual(await within(program.ended, "the program's end"), PROGRAMS[name]);
}

const LEAVINGS = {
  "and detach": (debug) => debug.ask("disconnect", { terminateDebuggee: false }),
  "and leave without a word": async (debug) => kill(debug.group),
};

for (const stop of ["all", "vat", "strand"]) {
  for (const [name, leave] of Object.entries(LEAVINGS)) {
    session(`attach ${name}, where ${stop} stops`, async (debug) => {
      const program = await waiting("parts", debug);
      await debug.start();
      await debug.attach("parts", { lines: [12, 24] }, { port: program.port, stop });
      const { frame } = await debug.stop("breakpoint");
      assert.equal(frame.line, 12);
      await leave(debug);
      await debug.gone();
      await unchanged(program, "parts");
    });
  }
}

session("attach to a port of one's own, and detach while it runs", async (debug) => {
  const port = await freePort();
  const program = await waiting("concurrency", debug, `--debug=${port}`);
  assert.equal(program.port, port);
  await debug.start();
  await debug.attach("concurrency", { lines: [24] }, { port });
  const stop = await debug.stop("breakpoint");
  await debug.goesOn(stop);
  await debug.ask("disconnect", {});
  await debug.gone();
  await unchanged(program, "concurrency");
});

session("attach, and stay to the end", async (debug) => {
  const program = await waiting("parts", debug);
  await debug.start();
  await debug.attach("parts", { lines: [24] }, { port: program.port });
  const stop = await debug.stop("breakpoint");
  await debug.finish(stop, ["", 3]);
  await unchanged(program, "parts");
});

session("attach, with a log point", async (debug) => {
  const program = await waiting("parts", debug);
  await debug.start();
  const line = { line: 12, logMessage: "worker {number}" };
  await debug.attach("parts", { lines: [line] }, { port: program.port });
  await debug.end(["", 3]);
  const lines = debug.outputs.console.split("\n").filter((each) => each !== "");
  assert.deepEqual(lines.sort(), ["worker 1", "worker 2"]);
  await unchanged(program, "parts");
});

session("attach without an adapter between", async (debug) => {
  const program = await waiting("parts", debug);
  await within(debug.client.start(program.port), "the connection");
  await debug.attach("parts", { lines: [24] }, {});
  const stop = await debug.stop("breakpoint");
  assert.equal(stop.frame.line, 24);
  await debug.ask("next", { threadId: stop.strand });
  assert.equal((await debug.stop("step")).frame.line, 25);
  await debug.ask("disconnect", {});
  await unchanged(program, "parts");
});

session("attach to nothing", async (debug) => {
  await debug.start();
  await debug.ask("initialize", { adapterID: "squall" });
  const needs = "attach needs the port that `squall run --debug` has shown";
  assert.equal(await debug.refused("attach", { processId: process.pid }), needs);
  const nothing = await debug.refused("attach", { port: await freePort() });
  assert.match(nothing, /^nothing listens at port \d+: /);
  await debug.ask("disconnect", {});
  await debug.gone();
});

// Back in time

session("back to the cause of an exception", async (debug) => {
  await debug.launch("lost", { exceptions: { filters: ["uncaught"] } }, { seed: 106 });
  const more = await debug.event("capabilities");
  assert.equal(more.body.capabilities.supportsStepBack, true);
  let stop = await debug.stop("exception");
  assert.equal(stop.frame.line, 38);
  const set = await debug.setLines("lost", [20]);
  const goes = async (request, reason, at, args = { threadId: stop.strand }) => {
    await debug.ask(request, args);
    stop = await debug.stop(reason);
    assert.equal(stop.at, at);
  };
  await goes("reverseContinue", "breakpoint", "Account>>correct: 20:24");
  assert.deepEqual(stop.hitBreakpointIds, [set[0].id]);
  const old = { expression: "old", frameId: stop.frame.id };
  assert.equal((await debug.ask("evaluate", old)).result, "0");
  await goes("stepBack", "step", "Account>>correct: 19:13");
  await goes("next", "step", "Account>>correct: 20:24");
  await goes("stepBack", "step", "Account>>correct: 19:13");
  await goes("squall/sent", "step", "Lost>>total 36:12");
  await goes("reverseContinue", "entry", "accessor of Lost 2:1");
  assert.equal(await debug.refused("stepBack", { threadId: stop.strand }), "this strand begins here");
  await goes("continue", "breakpoint", "Account>>correct: 20:24");
  await goes("continue", "exception", "Lost>>total 38:47");
  await goes("squall/written", "step", "block in Account>>deposit: 13:25", {
    name: "account balance",
    frameId: stop.frame.id,
    threadId: stop.strand,
  });
  await debug.finish(stop, ["", 1]);
});

session("back by steps and breakpoints", async (debug) => {
  await debug.launch("steps", { lines: [27] }, { seed: 3 });
  const each = async (stop) =>
    (await debug.ask("evaluate", { expression: "each", frameId: stop.frame.id })).result;
  let stop = await debug.stop("breakpoint");
  for (const value of ["3", "9", "4"]) {
    assert.equal(await each(stop), value);
    if (value === "4") break;
    await debug.goesOn(stop);
    stop = await debug.stop("breakpoint");
  }
  await debug.client.stepBackRequest({ threadId: stop.strand });
  stop = await debug.stop("step");
  assert.deepEqual([stop.at, await each(stop)], ["block in Steps>>visit:with: 29:7", "9"]);
  for (const value of ["9", "3"]) {
    await debug.client.reverseContinueRequest({ threadId: stop.strand });
    stop = await debug.stop("breakpoint");
    assert.deepEqual([stop.at, await each(stop)], ["block in Steps>>visit:with: 27:7", value]);
  }
  await debug.client.reverseContinueRequest({ threadId: stop.strand });
  stop = await debug.stop("entry");
  await debug.finish(stop);
});

session("back to the writes of a data breakpoint", async (debug) => {
  await debug.launch("past", { lines: [29] }, { seed: 1 });
  let stop = await debug.stop("breakpoint");
  const { dataId } = await debug.ask("dataBreakpointInfo", { name: "sum", frameId: stop.frame.id });
  await debug.ask("setDataBreakpoints", { breakpoints: [{ dataId, accessType: "write" }] });
  for (const change of ["sum: 7 → 12", "sum: 3 → 7", "sum: 0 → 3"]) {
    await debug.client.reverseContinueRequest({ threadId: stop.strand });
    stop = await debug.stop("data breakpoint");
    assert.equal(stop.description, change);
  }
  await debug.goesOn(stop);
  stop = await debug.stop("data breakpoint");
  assert.equal(stop.description, "sum: 3 → 7");
  await debug.finish(stop);
});

session("back over turns", async (debug) => {
  await debug.launch("origins", { lines: [{ line: 16, condition: "number = 4" }] }, { seed: 5 });
  let stop = await debug.stop("breakpoint");
  for (let turn = 0; turn < 3; turn += 1) {
    await debug.ask("squall/sent", { threadId: stop.strand });
    stop = await debug.stop("step");
    assert.equal(stop.at, "Link>>forward: 17:18");
  }
  const number = { expression: "number", frameId: stop.frame.id };
  assert.equal((await debug.ask("evaluate", number)).result, "1");
  await debug.finish(stop);
});

session("no way back without a seed", async (debug) => {
  await debug.launch("parts", { lines: [24] });
  const stop = await debug.stop("breakpoint");
  const needs = "going back needs a run with a seed, such as --seed=1, or a replay";
  for (const request of ["stepBack", "reverseContinue", "squall/sent", "squall/written"]) {
    assert.equal(await debug.refused(request, { threadId: stop.strand }), needs);
  }
  assert.ok(!debug.events.some((event) => event.event === "capabilities"));
  await debug.finish(stop);
});

// Output

session("output is shown while the program stands", async (debug) => {
  await debug.launch("concurrency", { lines: [30] });
  const stop = await debug.stop("breakpoint");
  await debug.until("the output", () => debug.outputs.stdout === "42\n2\n");
  await debug.finish(stop);
});

// A client may leave when it hears of the end: nothing is to come after that.
// A client may leave when it hears of the end: nothing is to come after that.
async function outputBeforeTheEnd(debug) {
  await debug.launch("turns");
  await debug.end();
  assert.ok(!debug.lateOutput, "an event `output` comes after `exited`");
}

session("no output comes after the exit code", outputBeforeTheEnd, 100);

// Running

// Gives a session to this, and ends its processes.
async function withSession(run) {
  const debug = new Session();
  try {
    await run(debug);
  } finally {
    debug.kill();
    kill(debug.attached);
  }
}

// Why a session has failed, in a line.
function reason({ message, code, generatedMessage, actual, expected }) {
  if (code !== "ERR_ASSERTION") return message.replace(/\s*\n\s*/g, " ");
  const difference = `got ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`;
  const text = generatedMessage ? difference : `${message.split("\n")[0]}: ${difference}`;
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}

async function main() {
  fs.accessSync(SQUALL, fs.constants.X_OK);
  const word = option("only") ?? "";
  const begin = Date.now();
  let [passed, failed] = [0, 0];
  for (const { name, run, times } of SESSIONS.filter((each) => each.name.includes(word))) {
    try {
      for (let time = 0; time < times; time += 1) await withSession(run);
      console.log(`passed: ${name}`);
      passed += 1;
    } catch (error) {
      console.log(`FAILED: ${name}: ${reason(error)}`);
      failed += 1;
    }
  }
  const seconds = ((Date.now() - begin) / 1000).toFixed(1);
  console.log(`${passed + failed} sessions in ${seconds} s: ${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

main();
