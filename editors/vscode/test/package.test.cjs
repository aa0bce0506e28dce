// The package as it is published: an archive that says what it is, and has all that its manifest names. An editor that
// installs it reads nothing else.

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const zlib = require("node:zlib");

const root = path.join(__dirname, "..");
const manifest = require("../package.json");

/** The files of a ZIP archive, by name, read as its central directory says. */
function unpacked(archive) {
  const end = archive.lastIndexOf("PK\x05\x06", undefined, "latin1");
  const files = new Map();
  let at = archive.readUInt32LE(end + 16);
  for (let rest = archive.readUInt16LE(end + 10); rest > 0; rest--) {
    assert.strictEqual(archive.toString("latin1", at, at + 4), "PK\x01\x02");
    const [length, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const name = archive.toString("utf8", at + 46, at + 46 + length);
    const local = archive.readUInt32LE(at + 42);
    const begin = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const bytes = archive.subarray(begin, begin + archive.readUInt32LE(at + 20));
    const isPacked = archive.readUInt16LE(at + 10) !== 0;
    files.set(name, isPacked ? zlib.inflateRawSync(bytes) : bytes);
    at += 46 + length + extra + comment;
  }
  return files;
}

/** All texts in a value that name a file of the extension. */
function paths(value) {
  if (typeof value === "string") return value.startsWith("./") ? [value.slice(2)] : [];
  return value && typeof value === "object" ? Object.values(value).flatMap(paths) : [];
}

test("the package says what it is, and has all that it names", () => {
  const file = path.join(root, "dist", "test.vsix");
  execFileSync("npm", ["run", "--silent", "package", "--", "--out", file], { cwd: root, stdio: "pipe" });
  const files = unpacked(fs.readFileSync(file));
  const text = (name) => files.get(name)?.toString("utf8") ?? assert.fail(`${name} is missing`);

  const types = [...text("[Content_Types].xml").matchAll(/<Default Extension="\.?([^"]+)"/g)].map((match) => match[1]);
  const extensions = [...files.keys()].map((name) => path.extname(name).slice(1)).filter((extension) => extension);
  for (const extension of extensions.filter((extension) => extension !== "xml")) {
    assert.ok(types.includes(extension), `.${extension} has no content type`);
  }

  const about = text("extension.vsixmanifest");
  const identity = about.match(/<Identity [^>]*Id="([^"]+)" Version="([^"]+)" Publisher="([^"]+)"/).slice(1);
  assert.deepStrictEqual(identity, [manifest.name, manifest.version, manifest.publisher]);
  assert.ok(about.includes(`Id="Microsoft.VisualStudio.Code.Engine" Value="${manifest.engines.vscode}"`));
  const assets = [...about.matchAll(/<Asset [^>]*Path="([^"]+)"/g)].map((match) => match[1]);
  assert.ok(assets.includes("extension/package.json"));
  assets.forEach(text);

  const packed = JSON.parse(text("extension/package.json"));
  assert.deepStrictEqual(packed.contributes, manifest.contributes);
  const named = paths(packed.main).concat(paths(packed.contributes));
  assert.ok(named.length >= 5, `${named}`);
  named.forEach((name) => assert.ok(files.get(`extension/${name}`)?.length > 0, `${name} is missing`));
  const others = [...files.keys()].filter((name) => /\.ts$|node_modules|test\//.test(name));
  assert.deepStrictEqual(others, []);
});
