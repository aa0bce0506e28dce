"""Compares the editors' grammars with the scanner of the compiler, by the editors' own engines.

    python3 syntax.py --squall FILE [--modules FOLDER] [FILE]…

Each token of a text has a kind; a comment is what begins with `(*` between two tokens. At each of these places, the engine must
see code, a string or a comment as the compiler does. So a quote that is none, such as "'", is found as soon as the text
behind it is a string for an editor. Without files, these are `quotes.ns` and the library.

Engines: Vim, Emacs, and that of Visual Studio Code if `--modules` names a folder in whose `node_modules` the packages
vscode-textmate and vscode-oniguruma are. Engines that are not installed are left out, with a line that says so. Sublime
Text has no engine that runs alone: its grammar has the rules of the one for Visual Studio Code.

`cargo xtask editors` runs it.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EDITORS = ROOT / "editors"

STRINGS = {"string", "character"}


def places(squall, path):
    """The places of tokens and comments of a text, with their kinds."""
    text = path.read_text(encoding="utf-8")
    dump = subprocess.run([squall, "check", "--dump=tokens", path], capture_output=True, text=True, check=True)
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found, end = [], 0
    for row in dump.stdout.splitlines():
        place, _, rest = row.partition(" ")
        if not rest or not place.replace(":", "").isdigit():
            continue
        line, column = map(int, place.split(":"))
        kind = rest.split()[0]
        offset = starts[line - 1] + column - 1
        comment = text.find("(*", end, offset)
        if comment >= 0:
            row_number = text.count("\n", 0, comment)
            found.append((row_number + 1, comment - starts[row_number] + 1, "comment"))
        if kind == "end":
            continue
        is_string = kind in STRINGS or text[offset : offset + 2] == "#'"
        found.append((line, column, "string" if is_string else "code"))
        end = offset + 1
        if is_string:
            end = string_end(text, offset)
    return found


def string_end(text, offset):
    """The place behind a string, a quoted symbol or a character."""
    offset += text[offset] == "#"
    quote = text[offset]
    if quote == '"':
        return offset + (4 if text[offset : offset + 3] == '"""' else 3)
    offset += 1
    while text[offset] != quote or text[offset + 1 : offset + 2] == quote:
        offset += 2 if text[offset] in "\\'" else 1
    return offset + 1


def vim(listed, command="vim"):
    if not shutil.which(command):
        return None
    with tempfile.TemporaryDirectory() as folder:
        answers = pathlib.Path(folder, "answers")
        start = ["-u", "NONE", "-i", "NONE", "-n", "--cmd", f"set rtp^={EDITORS / 'vim'} nocp hidden"]
        start += ["--cmd", f"let g:places='{listed}' | let g:answers='{answers}'", "-S", HERE / "classify.vim"]
        batch = ["--headless"] if command == "nvim" else ["-es", "-T", "dumb"]
        subprocess.run([command, *batch, *start], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
        return json.loads(answers.read_text())


def emacs(listed):
    if not shutil.which("emacs"):
        return None
    modes = EDITORS / "emacs/squall-modes.el"
    command = ["emacs", "--batch", "-Q", "-l", modes, "-l", HERE / "classify.el", listed]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def textmate(listed, modules):
    if not modules or not shutil.which("node") or not pathlib.Path(modules, "node_modules/vscode-textmate").exists():
        return None
    grammar = EDITORS / "vscode/syntaxes/newspeak.tmLanguage.json"
    command = ["node", HERE / "textmate.mjs", modules, grammar]
    with open(listed, encoding="utf-8") as places:
        return json.loads(subprocess.run(command, stdin=places, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squall", default="squall")
    parser.add_argument("--modules", help="a folder with the packages of npm")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    files = arguments.files or [HERE / "quotes.ns", *sorted(ROOT.joinpath("lib").glob("*.ns"))]
    expected = [places(arguments.squall, path.resolve()) for path in files]
    failures = 0
    with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
        entries = [
            {"file": str(path.resolve()), "places": [place[:2] for place in found]}
            for path, found in zip(files, expected)
        ]
        json.dump(entries, listed)
        listed.flush()
        engines = {
            "Vim": vim(listed.name),
            "Neovim": vim(listed.name, "nvim"),
            "Emacs": emacs(listed.name),
            "Visual Studio Code": textmate(listed.name, arguments.modules),
        }
    for name, answer in engines.items():
        if answer is None:
            print(f"skipped: {name}; its engine is not installed")
            continue
        wrong = [
            f"{path.name}:{line}:{column}: {name} sees {seen}, not {kind}"
            for path, found, kinds in zip(files, expected, answer)
            for (line, column, kind), seen in zip(found, kinds)
            if seen != kind
        ]
        for line in wrong[:10]:
            print(line)
        failures += len(wrong)
        print(f"{name}: {sum(map(len, expected))} places in {len(files)} files, {len(wrong)} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
