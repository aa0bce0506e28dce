# One feature at a time: python3 micro.py SYSTEM WORKLOAD SIZE ITERATIONS. See micro.ns.
import sys
import time


class Sender:
    def fibonacci(self, n):
        return n if n < 2 else self.fibonacci(n - 1) + self.fibonacci(n - 2)


class Circle:
    def corners(self): return 0


class Triangle:
    def corners(self): return 3


class Rectangle:
    def corners(self): return 4


class Pentagon:
    def corners(self): return 5


def evaluate(first, last, block):
    i = first
    while i <= last:
        block(i)
        i += 1


def first_above(limit, numbers):
    for each in numbers:
        if each > limit:
            return each
    return 0


class Refusal(Exception):
    def __init__(self, number):
        self.number = number


def refuse(number): raise Refusal(number)


def attempt(number): return refuse(number)


def sends(size): return Sender().fibonacci(size)


def polymorphic(size):
    shapes = [Circle(), Triangle(), Rectangle(), Pentagon()]
    corners = 0
    for i in range(1, size + 1):
        corners += shapes[i % 4].corners()
    return corners


def blocks(size):
    total = 0

    def add(i):
        nonlocal total
        total += i
    evaluate(1, size, add)
    return total


def nonLocalReturns(size):
    numbers = [3, 1, 4, 1, 5, 9, 2, 6]
    total = 0
    for i in range(1, size + 1):
        total += first_above(3, numbers)
    return total


def exceptions(size):
    total = 0
    for i in range(1, size + 1):
        try:
            total += attempt(i)
        except Refusal as refusal:
            total += refusal.number
    return total


def ensures(size):
    inside = 0
    total = 0

    def leave():
        nonlocal inside
        try:
            return inside
        finally:
            inside -= 1
    for i in range(1, size + 1):
        inside += 1
        total += leave()
    return total


def strings(size):
    pieces = []
    for i in range(1, size + 1):
        pieces.append('number ' + str(i))
    return len(', '.join(pieces))


def dictionaries(size):
    counts = {}
    for i in range(1, size + 1):
        key = 'k' + str(i % 100)
        counts[key] = counts.get(key, 0) + 1
    return counts['k7']


def arrays(size):
    array = [0] * size
    total = 0
    for i in range(1, size + 1):
        array[i - 1] = i
    for i in range(1, size // 2 + 1):
        other = array[i - 1]
        array[i - 1] = array[size - i]
        array[size - i] = other
    for i in range(1, size + 1):
        total += array[i - 1] * (i % 2)
    return total


system, name, size, iterations = sys.argv[1:]
for _ in range(int(iterations)):
    begin = time.perf_counter()
    result = globals()[name](int(size))
    elapsed = (time.perf_counter() - begin) * 1000
    print(f'RESULT\t{name}\t{system}\t{size} gives {result}\t{elapsed:.3f}\tms')
