// Highlights Newspeak in the book, by highlight.js, which mdBook brings. mdBook has highlighted the languages that it knows when
// this script runs.
hljs.registerLanguage("newspeak", (hljs) => {
  const comment = hljs.COMMENT("\\(\\*", "\\*\\)", { contains: ["self"] });
  return {
    name: "Newspeak",
    keywords: {
      keyword: "class public protected private self super outer",
      literal: "nil true false",
    },
    contains: [
      comment,
      { className: "string", begin: "'", end: "'", contains: [{ begin: "''" }] },
      { className: "string", begin: /"(""|[^"])"/ },
      { className: "symbol", begin: /#([A-Za-z_][\w:]*|[-+*\/\\~<>=@%|&?,]+|'[^']*')/ },
      { className: "number", begin: /\b\d+r[0-9A-Za-z]+\b|\b\d+(\.\d+)?(e-?\d+)?\b/ },
      // The parts of messages, so that `class:` in a message is no keyword.
      { className: "title", begin: /\b[a-z_]\w*:(?![:=])/ },
      { className: "type", begin: /\b[A-Z]\w*\b(?!:)/ },
    ],
  };
});
for (const block of document.querySelectorAll("code.language-newspeak")) {
  hljs.highlightBlock(block);
}
