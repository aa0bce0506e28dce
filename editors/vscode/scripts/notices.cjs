// Writes THIRD-PARTY-NOTICES.txt: the licences of the packages that the bundle contains, by what the bundler says that it has
// read. `npm run package` runs it.

const fs = require("node:fs");
const path = require("node:path");

const root = path.join(__dirname, "..");
const { inputs } = JSON.parse(fs.readFileSync(path.join(root, "dist/bundle.json"), "utf8"));
const folders = new Set();
for (const input of Object.keys(inputs)) {
  const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) folders.add(path.join(root, found[1]));
}
const texts = [...folders].sort().map((folder) => {
  const { name, version, license } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = fs.readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  if (!file) throw new Error(`${name} has no text of its licence`);
  return `${name} ${version}: ${license}\n\n${fs.readFileSync(path.join(folder, file), "utf8").trim()}\n`;
});
fs.writeFileSync(path.join(root, "THIRD-PARTY-NOTICES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
