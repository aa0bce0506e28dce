// Classifies places of texts by the engine of Visual Studio Code. `syntax.py` runs it:
//
//     node textmate.mjs FOLDER-WITH-NODE-MODULES GRAMMAR < list of files and places, as JSON
//
// Prints a list of words for each file, in the order of the places.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const [modules, grammarPath] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "package.json"));
const { Registry, parseRawGrammar, INITIAL } = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

const wasm = fs.readFileSync(path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm"));
await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
const registry = new Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => parseRawGrammar(fs.readFileSync(grammarPath, "utf8"), grammarPath),
});
const grammar = await registry.loadGrammar("source.newspeak.squall");

function kind(scopes) {
  if (scopes.some((scope) => scope.startsWith("comment."))) return "comment";
  if (scopes.some((scope) => scope.startsWith("string."))) return "string";
  return scopes.some((scope) => scope.startsWith("constant.character.newspeak")) ? "string" : "code";
}

const files = JSON.parse(fs.readFileSync(0, "utf8"));
const answer = files.map(({ file, places }) => {
  let stack = INITIAL;
  const lines = fs.readFileSync(file, "utf8").split("\n").map((line) => {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    return result.tokens;
  });
  return places.map(([line, column]) => {
    const token = lines[line - 1].find((token) => token.startIndex <= column - 1 && column - 1 < token.endIndex);
    return token ? kind(token.scopes) : "code";
  });
});
console.log(JSON.stringify(answer));
