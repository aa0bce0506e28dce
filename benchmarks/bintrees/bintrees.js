class Node {
  constructor(l, r) { this.l = l; this.r = r; }
  check() { return this.l === null ? 1 : 1 + this.l.check() + this.r.check(); }
}
const bottomUp = d => d === 0 ? new Node(null, null) : new Node(bottomUp(d - 1), bottomUp(d - 1));
function run(max) {
  let s = bottomUp(max + 1).check();
  const keep = bottomUp(max);
  for (let d = 4; d <= max; d += 4) for (let i = 0; i < 1 << (max - d + 4); i++) s += bottomUp(d).check();
  return s + keep.check();
}
const [depth, iterations] = process.argv.slice(2).map(Number);
for (let r = 0; r < iterations; r++) {
  const t = process.hrtime.bigint();
  const s = run(depth);
  console.log(`RESULT\tbintrees\tnode\tdepth ${depth}, ${s} nodes\t${(Number(process.hrtime.bigint() - t) / 1e6).toFixed(2)}\tms`);
}
