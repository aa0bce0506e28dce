// Tasks: commands of `squall` in the terminal, whose mistakes are listed among the problems.

import * as vscode from "vscode";

import { command, options } from "./settings";

/** What a task of `tasks.json` says. */
export interface Definition extends vscode.TaskDefinition {
  command: string;
  file?: string;
  options?: string[];
  args?: string[];
}

export function registerTasks(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    vscode.tasks.registerTaskProvider("squall", { provideTasks: offered, resolveTask: completed }),
  );
}

/** The tasks that everybody has. */
function offered(): vscode.Task[] {
  return (vscode.workspace.workspaceFolders ?? []).flatMap((folder) => [
    task({ type: "squall", command: "run", file: "${file}" }, folder, "run the program in this file"),
    task({ type: "squall", command: "check", file: "${file}" }, folder, "check this file"),
    task({ type: "squall", command: "test", file: "." }, folder, "test"),
  ]);
}

function completed(given: vscode.Task): vscode.Task | undefined {
  const scope = given.scope;
  const folder = typeof scope === "object" ? scope : vscode.workspace.workspaceFolders?.[0];
  // The definition must be the given one, or the task counts as another.
  return task(given.definition as Definition, folder, given.name);
}

function task(definition: Definition, folder: vscode.WorkspaceFolder | undefined, name: string): vscode.Task {
  const process = new vscode.ProcessExecution(command(folder), words(definition, folder), { cwd: folder?.uri.fsPath });
  const made = new vscode.Task(definition, folder ?? vscode.TaskScope.Workspace, name, "squall", process, "$squall");
  if (definition.command === "test") made.group = vscode.TaskGroup.Test;
  if (definition.command === "check") made.group = vscode.TaskGroup.Build;
  return made;
}

/** The arguments of the command. */
export function words(definition: Definition, folder?: vscode.WorkspaceFolder): string[] {
  const { command: name, file, args } = definition;
  const usual = name === "run" || name === "test" ? options(name, folder) : [];
  return [name, ...usual, ...(definition.options ?? []), ...(file ? [file] : []), ...(args ?? [])];
}

/** Runs the program in a file. */
export async function runTask(uri: vscode.Uri, folder: vscode.WorkspaceFolder | undefined): Promise<void> {
  const definition: Definition = { type: "squall", command: "run", file: uri.fsPath };
  await vscode.tasks.executeTask(task(definition, folder, vscode.workspace.asRelativePath(uri)));
}
