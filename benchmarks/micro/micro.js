// One feature at a time: node micro.js WORKLOAD SIZE ITERATIONS. See micro.ns.

class Sender {
  fibonacci(n) { return n < 2 ? n : this.fibonacci(n - 1) + this.fibonacci(n - 2); }
}

class Circle { corners() { return 0; } }
class Triangle { corners() { return 3; } }
class Rectangle { corners() { return 4; } }
class Pentagon { corners() { return 5; } }

function evaluate(first, last, block) {
  for (let i = first; i <= last; i++) block(i);
}

function firstAbove(limit, numbers) {
  const found = numbers.find(each => each > limit);
  return found === undefined ? 0 : found;
}

class Refusal extends Error {
  constructor(number) { super(); this.number = number; }
}
const refuse = number => { throw new Refusal(number); };
const attempt = number => refuse(number);

const workloads = {
  sends: size => new Sender().fibonacci(size),
  polymorphic(size) {
    const shapes = [new Circle(), new Triangle(), new Rectangle(), new Pentagon()];
    let corners = 0;
    for (let i = 1; i <= size; i++) corners += shapes[i % 4].corners();
    return corners;
  },
  blocks(size) {
    let sum = 0;
    evaluate(1, size, i => { sum += i; });
    return sum;
  },
  nonLocalReturns(size) {
    const numbers = [3, 1, 4, 1, 5, 9, 2, 6];
    let sum = 0;
    for (let i = 1; i <= size; i++) sum += firstAbove(3, numbers);
    return sum;
  },
  exceptions(size) {
    let sum = 0;
    for (let i = 1; i <= size; i++) {
      try { sum += attempt(i); } catch (refusal) { sum += refusal.number; }
    }
    return sum;
  },
  ensures(size) {
    let inside = 0, sum = 0;
    for (let i = 1; i <= size; i++) {
      inside++;
      sum += (() => { try { return inside; } finally { inside--; } })();
    }
    return sum;
  },
  strings(size) {
    const pieces = [];
    for (let i = 1; i <= size; i++) pieces.push('number ' + i);
    return pieces.join(', ').length;
  },
  dictionaries(size) {
    const counts = new Map();
    for (let i = 1; i <= size; i++) {
      const key = 'k' + i % 100;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts.get('k7');
  },
  arrays(size) {
    const array = new Array(size);
    let sum = 0;
    for (let i = 1; i <= size; i++) array[i - 1] = i;
    for (let i = 1; i <= size / 2; i++) {
      const other = array[i - 1];
      array[i - 1] = array[size - i];
      array[size - i] = other;
    }
    for (let i = 1; i <= size; i++) sum += array[i - 1] * (i % 2);
    return sum;
  },
};

const [name, size, iterations] = process.argv.slice(2);
for (let i = 0; i < Number(iterations); i++) {
  const begin = process.hrtime.bigint();
  const result = workloads[name](Number(size));
  const time = Number(process.hrtime.bigint() - begin) / 1e6;
  console.log(`RESULT\t${name}\tnode\t${size} gives ${result}\t${time.toFixed(3)}\tms`);
}
