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
    configuration.options = [...options("run", folder), ...(configuration.options ?? [])];
    configuration.cwd ??= folder?.uri.fsPath;
  }
  return configuration;
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
