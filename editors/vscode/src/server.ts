// The language server: starts `squall lsp`, and says what to do if that is not there.

import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

import { command } from "./settings";

let client: LanguageClient | undefined;

export async function startServer(context: vscode.ExtensionContext): Promise<void> {
  const server: ServerOptions = { command: command(), args: ["lsp"] };
  const languages = ["squall-newspeak", "squall-assembly"];
  const options: LanguageClientOptions = {
    documentSelector: languages.flatMap((language) => [
      { scheme: "file", language },
      { scheme: "untitled", language },
    ]),
  };
  client = new LanguageClient("squall", "Squall", server, options);
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("squall.path")) void restartServer();
    }),
  );
  await start(client);
}

async function start(client: LanguageClient): Promise<void> {
  // The client explains a missing command by the place in its own code.
  const problem = await missing(command());
  if (!problem) return client.start();
  const settings = "Open the Setting";
  const text = `The language server of Squall does not start: ${problem}. Install Squall, or say where it is.`;
  const choice = await vscode.window.showErrorMessage(text, settings);
  if (choice === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "squall.path");
  }
}

/** Why a command cannot be used; nothing if it can. */
function missing(command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(command, ["--version"], (error) => resolve(error ? error.message : undefined));
  });
}

export async function stopServer(): Promise<void> {
  // A client that has never started cannot be stopped.
  if (client?.needsStop()) await client.stop();
}

export async function restartServer(): Promise<void> {
  if (!client) return;
  await stopServer();
  const server: ServerOptions = { command: command(), args: ["lsp"] };
  client = new LanguageClient("squall", "Squall", server, client.clientOptions);
  await start(client);
}
