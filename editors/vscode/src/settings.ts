// The user's settings, as the other parts need them.

import * as vscode from "vscode";

export function command(scope?: vscode.ConfigurationScope): string {
  return vscode.workspace.getConfiguration("squall", scope).get<string>("path") || "squall";
}

export function options(kind: "run" | "test", scope?: vscode.ConfigurationScope): string[] {
  return vscode.workspace.getConfiguration("squall", scope).get<string[]>(`${kind}.options`) ?? [];
}
