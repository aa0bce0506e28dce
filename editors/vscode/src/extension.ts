// The extension's beginning and end. Visual Studio Code calls `activate` when a text of Squall is opened, a task or a
// debugger of it is asked for, or a folder has one. Each part registers itself; all use the settings.

import * as vscode from "vscode";

import { startServer, stopServer, restartServer } from "./server";
import { registerDebugger } from "./debugger";
import { registerTasks } from "./tasks";
import { registerTests } from "./tests";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  registerDebugger(context);
  registerTasks(context);
  registerTests(context);
  context.subscriptions.push(vscode.commands.registerCommand("squall.restartServer", restartServer));
  await startServer(context);
}

export async function deactivate(): Promise<void> {
  await stopServer();
}
