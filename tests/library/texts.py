"""Writes random texts, one JSON array a line, and what Python's methods make of them: for `cargo xtask library texts`.

Only characters that are assigned in Python's version of Unicode are in the texts. Two small letters got capital letters
later, and Python takes four control characters for white space; these are left out."""
import json, random, re, sys, unicodedata

LEFT_OUT = {0x19B, 0x264, 0x1C, 0x1D, 0x1E, 0x1F}
number, seed = int(sys.argv[1]), sys.argv[2]
source = random.Random(seed)
assigned = [chr(c) for c in range(0x110000)
            if c not in LEFT_OUT and unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
cased = [c for c in assigned if c.upper() != c or c.lower() != c]
blanks = [c for c in assigned if c.isspace()]
special = list("ßİıſΣσςŉǰΐﬀﬁẞ\u0345\u0301\u0307\u00adéüa'A1.\r\n")

def text(longest):
    kinds = [assigned, cased, blanks, special, "abc", "abc"]
    return "".join(source.choice(source.choice(kinds)) for _ in range(source.randint(0, longest)))

for _ in range(number):
    t, part, put = text(20), text(2), text(3)
    if part not in t and t and source.random() < 0.7:
        start = source.randrange(len(t))
        part = t[start:start + source.randint(1, 3)]
    part = part or "a"
    lines = re.split("\r\n|\r|\n", t)
    record = [t, part, put, t.upper(), t.lower(), t.strip(), t.lstrip(), t.rstrip(), t[::-1], t.replace(part, put),
              t.find(part) + 1, t.rfind(part) + 1, t.count(part), t.split(part), t.split(),
              lines[:-1] if lines[-1] == "" else lines, t.startswith(part), t.endswith(part),
              [unicodedata.normalize(form, t) for form in ("NFC", "NFD", "NFKC", "NFKD")],
              t.encode().hex(), len(t), t.ljust(25), t.rjust(25)]
    print(json.dumps(record))
