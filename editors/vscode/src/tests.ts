// The test explorer: test modules, their contexts and tests, found in the texts and run by `squall test --json`.

import { spawn } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";

import { Events, type Event, type Found, placeIn, testsIn } from "./outline";
import { command, options } from "./settings";

export function registerTests(context: vscode.ExtensionContext): void {
  const controller = vscode.tests.createTestController("squall", "Squall");
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.ns");
  const read = (uri: vscode.Uri) => void readFile(controller, uri);
  controller.resolveHandler = async (item) => {
    if (!item) await readAll(controller);
  };
  controller.refreshHandler = () => readAll(controller);
  controller.createRunProfile(
    "Run",
    vscode.TestRunProfileKind.Run,
    (request, token) => runTests(controller, request, token),
    true,
  );
  context.subscriptions.push(
    controller,
    watcher,
    watcher.onDidCreate(read),
    watcher.onDidChange(read),
    watcher.onDidDelete((uri) => controller.items.delete(uri.toString())),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document.languageId === "squall-newspeak") show(controller, document.uri, document.getText());
    }),
  );
}

async function readAll(controller: vscode.TestController): Promise<void> {
  const files = await vscode.workspace.findFiles("**/*.ns", "**/{node_modules,target,vendor}/**");
  await Promise.all(files.map((uri) => readFile(controller, uri)));
}

async function readFile(controller: vscode.TestController, uri: vscode.Uri): Promise<void> {
  const bytes = await vscode.workspace.fs.readFile(uri);
  show(controller, uri, Buffer.from(bytes).toString("utf8"));
}

/** Shows the tests of a text, or none. */
function show(controller: vscode.TestController, uri: vscode.Uri, text: string): void {
  const contexts = testsIn(text);
  const id = uri.toString();
  if (contexts.length === 0) return controller.items.delete(id);
  const file = controller.items.get(id) ?? controller.createTestItem(id, vscode.workspace.asRelativePath(uri), uri);
  const item = (found: Found, id: string) => {
    const made = controller.createTestItem(id, found.name, uri);
    made.range = new vscode.Range(found.line, 0, found.line, 0);
    return made;
  };
  file.children.replace(
    contexts.map((context) => {
      const parent = item(context, context.name);
      parent.children.replace(context.tests.map((test) => item(test, `${context.name}.${test.name}`)));
      return parent;
    }),
  );
  controller.items.add(file);
}

async function runTests(
  controller: vscode.TestController,
  request: vscode.TestRunRequest,
  token: vscode.CancellationToken,
): Promise<void> {
  const run = controller.createTestRun(request);
  const asked = request.include ?? [...controller.items].map(([, item]) => item);
  const excluded = new Set(request.exclude ?? []);
  for (const item of asked) {
    if (token.isCancellationRequested) break;
    const tests = leaves(item).filter((test) => !excluded.has(test));
    await runItem(run, item, new Map(tests.map((test) => [test.id, test])), token);
  }
  run.end();
}

function leaves(item: vscode.TestItem): vscode.TestItem[] {
  const children = [...item.children].map(([, child]) => child);
  return children.length === 0 ? [item] : children.flatMap(leaves);
}

/** Runs a file, a context or a test. */
function runItem(
  run: vscode.TestRun,
  item: vscode.TestItem,
  tests: Map<string, vscode.TestItem>,
  token: vscode.CancellationToken,
): Promise<void> {
  const uri = item.uri!;
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  const cwd = folder?.uri.fsPath ?? path.dirname(uri.fsPath);
  const filter = item.id === uri.toString() ? [] : ["--filter", item.id];
  const words = ["test", "--json", ...options("test", folder), ...filter, uri.fsPath];
  tests.forEach((test) => run.started(test));
  const waiting = new Set(tests.values());
  const events = new Events();
  return new Promise((resolve) => {
    const child = spawn(command(folder), words, { cwd });
    const listening = token.onCancellationRequested(() => child.kill());
    const append = (text: string) => run.appendOutput(text.replace(/\r?\n/g, "\r\n"));
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      const added = events.add(piece);
      added.others.forEach((line) => append(`${line}\n`));
      for (const event of added.events) {
        const test = event.name === undefined ? undefined : tests.get(event.name);
        if (test && event.event === "test") {
          waiting.delete(test);
          report(run, test, event, cwd);
        }
      }
    });
    let problem = "";
    child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      problem += piece;
      append(piece);
    });
    child.on("error", (error) => (problem += String(error)));
    child.on("close", () => {
      listening.dispose();
      // Tests without a result: the module has mistakes, or ended early.
      const text = problem.trim() || "squall has ended without a result of this test";
      waiting.forEach((test) =>
        token.isCancellationRequested ? run.skipped(test) : run.errored(test, new vscode.TestMessage(text)),
      );
      resolve();
    });
  });
}

function report(run: vscode.TestRun, test: vscode.TestItem, event: Event, cwd: string): void {
  const milliseconds = (event.microseconds ?? 0) / 1000;
  if (event.outcome === "passed") return run.passed(test, milliseconds);
  if (event.outcome === "skipped") return run.skipped(test);
  const text = event.message ?? "failed";
  const message = new vscode.TestMessage(text);
  const place = placeIn(text);
  const at = place && new vscode.Position(place.line, place.column);
  const uri = place ? vscode.Uri.file(path.resolve(cwd, place.file)) : test.uri!;
  message.location = new vscode.Location(uri, at ?? test.range!);
  run.failed(test, message, milliseconds);
}
