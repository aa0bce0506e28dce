"""Writes a document of 10 MB, and prints the seconds that Python's json takes to read and to print it: for
`cargo xtask library speed`."""
import json, random, sys, time

source = random.Random(1)
words = "alpha beta gamma delta epsilon zeta eta theta Grüße naïve 東京 line\nbreak \"quoted\"".split(" ")

def record(number):
    return {"id": number, "name": " ".join(source.choices(words, k=4)), "active": source.random() < 0.5,
            "score": source.random() * 1000, "tags": source.choices(words, k=3), "parent": None,
            "place": {"lat": source.uniform(-90, 90), "lon": source.uniform(-180, 180)}}

records, size = [], 0
while size < 10_000_000:
    records.append(record(len(records)))
    size += len(json.dumps(records[-1], ensure_ascii=False).encode()) + 2
text = json.dumps(records, ensure_ascii=False)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(text)

def least(action):
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best

print(least(lambda: json.loads(text)), least(lambda: json.dumps(records, ensure_ascii=False)))
