"""Random edits of the library's files, sent to `squall lsp` as an editor sends them.

    python3 random_edits.py --squall FILE [--edits N] [--seed N]

Each edit is an incremental change of an open text: words, brackets, quotes and signs are inserted, parts removed, doubled and
moved, also such that no unit of UTF-16 or line end may be miscounted. Requests about random places come between them. The
server must answer each one in time, and must not end. After each round, and at the end, all answers about all texts are
compared with those of a fresh server that has got the final texts at once: an answer that differs is stale.

Needs Python 3.8 and nothing else. `cargo xtask editors` runs it.
"""

import argparse
import json
import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The longest time for one answer. A machine under load takes its time; a server that hangs takes longer.
PATIENCE = 60.0

PIECES = [
    "(", ")", "[", "]", "{", "}", "|", "'", '"', "(*", "*)", ".", ":", "::", ":=", "::=", "=", "^", "#", "#(", "$", ";",
    "<-:", "-", "1", "16r", "1e", "0.", " ", "\n", "\n\n", "\t", "\r\n", "\r", "self", "super", "outer", "class", "public",
    "private", "nil", "foo", "foo:", "Foo", "println", "ifTrue: [ ", " do: [:each | ", "é", "ß", "日本", "😀", "\u0000",
    "\u2028", "r1", "$a", "; ", "{", "}", "function $f (1) -> i64 {", "  load_integer r1, 3", "class A = ()( a = ( ^ 1 ) )", "(* - comment *)", "'it''s'", '"x"',
]

ABOUT_TEXTS = [
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/semanticTokens/full",
    "textDocument/formatting",
]

ABOUT_PLACES = [
    "textDocument/completion",
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/implementation",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/signatureHelp",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/prepareCallHierarchy",
    "textDocument/selectionRange",
    "textDocument/inlayHint",
    "textDocument/codeAction",
    "textDocument/semanticTokens/range",
    "textDocument/rangeFormatting",
]


class Server:
    """A running `squall lsp`."""

    def __init__(self, squall, cache):
        environment = dict(os.environ, XDG_CACHE_HOME=str(cache))
        self.process = subprocess.Popen(
            [squall, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self.messages = queue.Queue()
        self.mistakes = {}
        self.number = 0
        threading.Thread(target=self._read, daemon=True).start()
        self.ask("initialize", {"capabilities": {}, "rootUri": None})
        self.notify("initialized", {})

    def _read(self):
        output = self.process.stdout
        while True:
            length = None
            while True:
                line = output.readline()
                if not line:
                    self.messages.put(None)
                    return
                if line == b"\r\n":
                    break
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            self.messages.put(json.loads(output.read(length)))

    def _send(self, message):
        body = json.dumps(dict(message, jsonrpc="2.0")).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method, parameters):
        self._send({"method": method, "params": parameters})

    def ask(self, method, parameters):
        """The answer: a result, or an error's text."""
        self.number += 1
        self._send({"id": self.number, "method": method, "params": parameters})
        end = time.monotonic() + PATIENCE
        while True:
            message = self._next(end, method)
            if message.get("id") == self.number and "method" not in message:
                error = message.get("error")
                return {"error": error["message"]} if error else message.get("result")

    def wait_for_mistakes(self, versions):
        """The published mistakes of texts with these versions."""
        end = time.monotonic() + PATIENCE
        while any(self.mistakes.get(uri, (None,))[0] != version for uri, version in versions.items()):
            self._next(end, "publishDiagnostics")
        return {uri: self.mistakes[uri][1] for uri in versions}

    def _next(self, end, subject):
        try:
            message = self.messages.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise SystemExit(f"FAILED: no answer about {subject} for {PATIENCE:.0f} s") from None
        if message is None:
            raise SystemExit(f"FAILED: the server has ended during {subject}: {self.process.wait()}")
        if message.get("method") == "textDocument/publishDiagnostics":
            parameters = message["params"]
            self.mistakes[parameters["uri"]] = (parameters.get("version"), parameters["diagnostics"])
        return message

    def end(self):
        self.ask("shutdown", None)
        self.notify("exit", None)
        self.process.stdin.close()
        if self.process.wait(timeout=PATIENCE) != 0:
            raise SystemExit("FAILED: the server did not end well")


class Text:
    """An open text as an editor has it."""

    def __init__(self, path):
        self.uri = path.as_uri()
        self.original = path.read_text(encoding="utf-8")
        self.text = self.original
        self.version = 1

    def position(self, offset):
        """A place as the protocol has it: lines end with LF, CR LF or CR, columns are units of UTF-16."""
        before = self.text[:offset]
        line = column = 0
        index = 0
        start = 0
        while index < len(before):
            letter = before[index]
            if letter == "\n" or (letter == "\r" and self.text[index + 1 : index + 2] != "\n"):
                line += 1
                start = index + 1
            index += 1
        column = len(before[start:].encode("utf-16-le")) // 2
        return {"line": line, "character": column}

    def range(self, start, end):
        return {"start": self.position(start), "end": self.position(end)}

    def replace(self, start, end, new):
        """Replaces a part. Answers the change for the server."""
        # A place between CR and LF does not exist in the protocol.
        start, end = self.outside_of_line_ends(start), self.outside_of_line_ends(end)
        change = {"range": self.range(start, end), "text": new}
        self.text = self.text[:start] + new + self.text[end:]
        return change

    def outside_of_line_ends(self, offset):
        return offset - 1 if self.text[offset - 1 : offset + 1] == "\r\n" and offset else offset

    def random_change(self, dice):
        length = len(self.text)
        start = dice.randint(0, length)
        end = min(length, start + dice.choice([0, 0, 1, 2, 5, 20, 80]))
        kind = dice.randrange(6)
        if kind < 3:
            return self.replace(start, start, dice.choice(PIECES))
        if kind == 3:
            return self.replace(start, end, "")
        if kind == 4:
            return self.replace(start, start, self.text[start:end])
        return self.replace(start, end, dice.choice(PIECES) + dice.choice(PIECES))

    def edit(self, dice):
        """The changes of one event."""
        self.version += 1
        if len(self.text) > 2 * len(self.original) + 4000 or dice.random() < 0.01:
            self.text = self.original
            return [{"text": self.text}]
        return [self.random_change(dice) for _ in range(dice.choice([1, 1, 1, 2, 3]))]


def parameters(method, text, dice):
    start = dice.randint(0, len(text.text))
    end = min(len(text.text), start + dice.randint(0, 2000))
    made = {"textDocument": {"uri": text.uri}, "position": text.position(start)}
    made["positions"] = [made["position"]]
    made["range"] = text.range(start, end)
    made["context"] = {"diagnostics": [], "includeDeclaration": True}
    made["newName"] = "renamed"
    made["options"] = {"tabSize": 2, "insertSpaces": True}
    return made


def open_texts(server, texts):
    for text in texts:
        language = "sqasm" if text.uri.endswith(".sqasm") else "newspeak"
        item = {"uri": text.uri, "languageId": language, "version": text.version, "text": text.text}
        server.notify("textDocument/didOpen", {"textDocument": item})


def answers(server, texts, seed):
    """What a server says about all texts, in a form that can be compared."""
    found = {}
    for number, text in enumerate(texts):
        dice = random.Random(f"{seed}:{number}")
        for method in ABOUT_TEXTS + ABOUT_PLACES:
            answer = server.ask(method, parameters(method, text, dice))
            found[text.uri, method] = json.dumps(answer, sort_keys=True)
    found["workspace/symbol"] = json.dumps(server.ask("workspace/symbol", {"query": "do"}), sort_keys=True)
    versions = {text.uri: text.version for text in texts}
    for uri, mistakes in server.wait_for_mistakes(versions).items():
        found[uri, "mistakes"] = json.dumps(mistakes, sort_keys=True)
    return found


def compare(server, texts, arguments, cache, seed):
    fresh = Server(arguments.squall, cache)
    open_texts(fresh, texts)
    expected = answers(fresh, texts, seed)
    fresh.end()
    found = answers(server, texts, seed)
    stale = [key for key in expected if found[key] != expected[key]]
    for key in stale[:3]:
        print(f"stale: {key}\n  {found[key][:400]}\n  {expected[key][:400]}")
    if stale:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="squall-edits-"))
        for text in texts:
            folder.joinpath(pathlib.Path(text.uri).name).write_text(text.text, encoding="utf-8", newline="")
        raise SystemExit(f"FAILED: {len(stale)} answers are stale (seed {arguments.seed}); the texts are in {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squall", default="squall", help="the command to test")
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int, default=500, help="compare after so many edits")
    parser.add_argument("--files", nargs="*", help="by default, some of the library, and the assembly among the examples")
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    paths = [pathlib.Path(path).resolve() for path in arguments.files or []]
    if not paths:
        paths = sorted(ROOT.joinpath("lib").glob("*.ns"))
        paths = dice.sample(paths, min(8, len(paths)))
        paths += sorted(ROOT.joinpath("examples").glob("**/*.sqasm"))
    longest = 0.0
    with tempfile.TemporaryDirectory(prefix="squall-cache-") as cache:
        server = Server(arguments.squall, cache)
        texts = [Text(path) for path in paths]
        open_texts(server, texts)
        for number in range(1, arguments.edits + 1):
            text = dice.choice(texts)
            changes = text.edit(dice)
            identifier = {"uri": text.uri, "version": text.version}
            server.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": changes})
            if number % 5 == 0:
                method = dice.choice(ABOUT_TEXTS + ABOUT_PLACES)
                begin = time.monotonic()
                server.ask(method, parameters(method, text, dice))
                longest = max(longest, time.monotonic() - begin)
            if number % arguments.round == 0 or number == arguments.edits:
                compare(server, texts, arguments, cache, number)
                print(f"{number} edits; longest time for an answer: {longest * 1000:.0f} ms", flush=True)
        server.end()
    print(f"{arguments.edits} edits of {len(texts)} files: no crash, no hang, no stale answer")


if __name__ == "__main__":
    sys.exit(main())
