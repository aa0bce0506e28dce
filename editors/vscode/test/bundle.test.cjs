// The extension as it is packed, in an editor that is none: each name of the editor's interface is a stand-in that notes its
// calls. So this finds a bundle that does not load, parts that are not registered, and settings that do not exist. If SQUALL
// names the command, the test explorer runs a real test module.

const assert = require("node:assert");
const fs = require("node:fs");
const Module = require("node:module");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");

const manifest = require("../package.json");

const settings = { "squall.path": "/nowhere/squall", "squall.run.options": ["--seed=3"], "squall.test.options": [] };
const calls = [];

/** A function, class and object with all members. */
function standIn(name) {
  const members = new Map();
  const target = class {
    dispose() {}
  };
  return new Proxy(target, {
    get(_, key) {
      if (key === "prototype" || typeof key === "symbol") return target[key];
      if (key === "then") return undefined;
      if (!members.has(key)) members.set(key, standIn(`${name}.${key}`));
      return members.get(key);
    },
    set: (_, key, value) => members.set(key, value) && true,
    apply(_, __, words) {
      calls.push({ name, words });
      return standIn(`${name}()`);
    },
    construct(_, words, derived) {
      const made = Reflect.construct(target, [], derived);
      return Object.assign(made, { name, words });
    },
  });
}

const items = () => {
  const map = new Map();
  return {
    add: (item) => map.set(item.id, item),
    get: (id) => map.get(id),
    delete: (id) => map.delete(id),
    replace: (list) => (map.clear(), list.forEach((item) => map.set(item.id, item))),
    get size() {
      return map.size;
    },
    [Symbol.iterator]: () => map[Symbol.iterator](),
  };
};

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "squall-extension-"));
const workspaceFolder = { uri: { fsPath: folder }, name: "folder", index: 0 };
const editor = standIn("vscode");
// The bundle copies the own members of the module into an object with the module's prototype; all members are there then.
const vscode = new Proxy(editor, { getPrototypeOf: () => editor, ownKeys: () => ["prototype"] });
vscode.EventEmitter = class {
  event = () => ({ dispose() {} });
  fire() {}
  dispose() {}
};
vscode.version = "1.91.0";
vscode.workspace.workspaceFolders = [workspaceFolder];
vscode.workspace.textDocuments = [];
vscode.workspace.notebookDocuments = [];
vscode.window.visibleTextEditors = [];
vscode.window.tabGroups.all = [];
vscode.workspace.getWorkspaceFolder = () => workspaceFolder;
vscode.workspace.asRelativePath = (uri) => path.relative(folder, uri.fsPath);
vscode.workspace.getConfiguration = (section) => ({
  get: (key) => settings[`${section}.${key}`],
});
vscode.window.showErrorMessage = async (text) => void calls.push({ name: "showErrorMessage", words: [text] });
vscode.tests.createTestController = (id) => {
  calls.push({ name: "createTestController", words: [id] });
  return Object.assign(controller, { id });
};
const controller = {
  items: items(),
  createTestItem: (id, label, uri) => ({ id, label, uri, children: items() }),
  createRunProfile: (...words) => (controller.run = words[2]),
  createTestRun: () => run,
  dispose() {},
};
const results = [];
const run = {
  started() {},
  passed: (item) => results.push([item.id, "passed"]),
  failed: (item, message) => results.push([item.id, "failed", message.words[0]]),
  errored: (item, message) => results.push([item.id, "errored", message.words[0]]),
  skipped: (item) => results.push([item.id, "skipped"]),
  appendOutput() {},
  end: () => results.push(["end"]),
};

const load = Module._load;
Module._load = (request, ...more) => (request === "vscode" ? vscode : load(request, ...more));
const extension = require("../dist/extension.js");

const named = (name) => calls.filter((call) => call.name === name);

test("all parts are registered, and a missing server is explained", async () => {
  const context = { subscriptions: [], extensionPath: __dirname, asAbsolutePath: (name) => name };
  await extension.activate(context);
  assert.ok(context.subscriptions.length >= 8);
  const commands = named("vscode.commands.registerCommand").map((call) => call.words[0]);
  const declared = manifest.contributes.commands.map((command) => command.command);
  assert.deepStrictEqual(commands.filter((name) => name.startsWith("squall.")).sort(), declared.sort());
  assert.strictEqual(named("vscode.debug.registerDebugAdapterDescriptorFactory")[0].words[0], "squall");
  assert.strictEqual(named("vscode.tasks.registerTaskProvider")[0].words[0], "squall");
  assert.strictEqual(named("createTestController").length, 1);
  assert.match(named("showErrorMessage")[0].words[0], /\/nowhere\/squall/);
  assert.strictEqual(named("showErrorMessage").length, 1);
});

test("the debugger gets the command, and the settings' options before those of the configuration", () => {
  const factory = named("vscode.debug.registerDebugAdapterDescriptorFactory")[0].words[1];
  const adapter = factory.createDebugAdapterDescriptor({ workspaceFolder });
  assert.deepStrictEqual(adapter.words, ["/nowhere/squall", ["debug"]]);
  const provider = named("vscode.debug.registerDebugConfigurationProvider")[0].words[1];
  const given = { type: "squall", request: "launch", name: "n", program: "p.ns", options: ["--allow-read=."] };
  const resolved = provider.resolveDebugConfiguration(workspaceFolder, given);
  assert.deepStrictEqual(resolved.options, ["--seed=3", "--allow-read=."]);
  assert.strictEqual(resolved.cwd, folder);
  const recorded = { type: "squall", request: "launch", name: "n", recording: "run.sqr" };
  assert.strictEqual(provider.resolveDebugConfiguration(workspaceFolder, recorded).options, undefined);
  vscode.window.activeTextEditor = { document: { languageId: "squall-newspeak" } };
  assert.strictEqual(provider.resolveDebugConfiguration(workspaceFolder, {}).program, "${file}");
  vscode.window.activeTextEditor = { document: { languageId: "plaintext" } };
  assert.strictEqual(provider.resolveDebugConfiguration(workspaceFolder, {}), undefined);
});

test("tasks run the command", () => {
  const provider = named("vscode.tasks.registerTaskProvider")[0].words[1];
  const tasks = provider.provideTasks();
  const lines = tasks.map((task) => task.words[4].words.slice(0, 2).flat().join(" "));
  assert.deepStrictEqual(lines, [
    "/nowhere/squall run --seed=3 ${file}",
    "/nowhere/squall check ${file}",
    "/nowhere/squall test .",
  ]);
  const definition = { type: "squall", command: "run", file: "a.ns", options: ["--fuel=1M"], args: ["x"] };
  const task = provider.resolveTask({ definition, name: "mine", scope: workspaceFolder });
  assert.strictEqual(task.words[0], definition);
  assert.deepStrictEqual(task.words[4].words[1], ["run", "--seed=3", "--fuel=1M", "a.ns", "x"]);
});

const TESTS = `class T usingPlatform: p testFramework: t = (
| private TestContext = t TestContext. |
)(
  public class C = TestContext ()(
    public testGood = ( assert: 1 equals: 1 )
    public testBad = ( assert: 1 equals: 2 )
  ) : ( public TEST_CONTEXT = () )
)
`;

test("the test explorer finds, runs and reports tests", { skip: process.env.SQUALL ? false : "SQUALL names no command" }, async () => {
  settings["squall.path"] = process.env.SQUALL;
  const file = path.join(folder, "tests.ns");
  fs.writeFileSync(file, TESTS);
  const uri = { fsPath: file, toString: () => `file://${file}` };
  vscode.workspace.findFiles = async () => [uri];
  vscode.workspace.fs.readFile = async () => fs.readFileSync(file);
  await controller.resolveHandler(undefined);
  const [[, module]] = [...controller.items];
  const [[, context]] = [...module.children];
  assert.deepStrictEqual([...context.children].map(([id]) => id), ["C.testGood", "C.testBad"]);
  const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
  await controller.run({}, token);
  assert.deepStrictEqual(results.map((result) => result.slice(0, 2)), [["C.testGood", "passed"], ["C.testBad", "failed"], ["end"]]);
  assert.match(results[1][2], /expected 2/);
  results.length = 0;
  await controller.run({ include: [context.children.get("C.testGood")] }, token);
  assert.deepStrictEqual(results, [["C.testGood", "passed"], ["end"]]);
  // A module that no longer compiles says so at its tests.
  fs.writeFileSync(file, TESTS.replace("equals: 1 )", "equals: "));
  results.length = 0;
  await controller.run({ include: [context] }, token);
  assert.deepStrictEqual(results.map((result) => result[1]), ["errored", "errored", undefined]);
  fs.rmSync(folder, { recursive: true });
});
