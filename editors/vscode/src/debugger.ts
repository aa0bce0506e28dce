// The debugger: `squall debug` speaks the Debug Adapter Protocol. Without a configuration, the program of the active editor is
// debugged.

import * as vscode from "vscode";

import { command, options } from "./settings";
import { runTask } from "./tasks";

export function registerDebugger(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("squall", {
      createDebugAdapterDescriptor: (session) =>
        new vscode.DebugAdapterExecutable(command(session.workspaceFolder), ["debug"]),
    }),
    vscode.debug.registerDebugConfigurationProvider("squall", { resolveDebugConfiguration: resolved }),
    vscode.commands.registerCommand("squall.runFile", (file?: vscode.Uri) => start(file, true)),
    vscode.commands.registerCommand("squall.debugFile", (file?: vscode.Uri) => start(file, false)),
    vscode.commands.registerCommand("squall.stepTo", stepTo),
    vscode.commands.registerCommand("squall.stopAt", stopAt),
  );
}

/** A configuration with what was left out of it. */
export function resolved(
  folder: vscode.WorkspaceFolder | undefined,
  given: vscode.DebugConfiguration,
): vscode.DebugConfiguration | undefined {
  const configuration = { ...given };
  if (!configuration.type && !configuration.request && !configuration.name) {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== "squall-newspeak") return undefined;
    Object.assign(configuration, { type: "squall", name: "Debug the program", request: "launch", program: "${file}" });
  }
  if (configuration.request === "launch") {
    // A recording has the options of its run.
    if (!configuration.recording) {
      configuration.options = [...options("run", folder), ...(configuration.options ?? [])];
    }
    configuration.cwd ??= folder?.uri.fsPath;
  }
  return configuration;
}

/** A name that the debugger knows, with what it means. */
interface Named {
  name: string;
  label?: string;
  description?: string;
}

/** Lets the stopped strand step to another one, or to a moment: the debugger says which steps there are. */
async function stepTo(): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  const item = vscode.debug.activeStackItem;
  if (session?.type !== "squall" || !item) return;
  const { steps } = (await session.customRequest("squall/steps")) as { steps: Named[] };
  const items = steps.map(({ name, label }) => ({ label: label ?? name, description: name, name }));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: "Step to" });
  if (!chosen) return;
  try {
    await session.customRequest("squall/step", { threadId: item.threadId, step: chosen.name });
  } catch (problem) {
    await vscode.window.showErrorMessage(problem instanceof Error ? problem.message : String(problem));
  }
}

/** Adds the breakpoint of a point of concurrency or of an event. */
async function stopAt(): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== "squall") return;
  const known = (await session.customRequest("squall/breakpoints")) as { breakpoints: Named[]; events: Named[] };
  const items = [...known.breakpoints, ...known.events].map(({ name, description }) => ({ label: name, detail: description }));
  const chosen = await vscode.window.showQuickPick(items, { canPickMany: true, matchOnDetail: true, placeHolder: "Stop at" });
  vscode.debug.addBreakpoints((chosen ?? []).map(({ label }) => new vscode.FunctionBreakpoint(label)));
}

async function start(file: vscode.Uri | undefined, noDebug: boolean): Promise<void> {
  const uri = file ?? vscode.window.activeTextEditor?.document.uri;
  if (!uri) return;
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  const name = vscode.workspace.asRelativePath(uri);
  if (noDebug) {
    return runTask(uri, folder);
  }
  await vscode.debug.startDebugging(folder, { type: "squall", request: "launch", name, program: uri.fsPath });
}
