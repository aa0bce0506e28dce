class Chan {
  constructor() { this.r = null; this.w = null; }
  send(v) {
    if (this.r) { const r = this.r; this.r = null; r(v); return undefined; }
    return new Promise(res => { this.w = { v, res }; });
  }
  recv() {
    if (this.w) { const { v, res } = this.w; this.w = null; res(); return v; }
    return new Promise(res => { this.r = res; });
  }
}
const n = 1000, hops = Number(process.argv[2] ?? 1000000);
const q = Array.from({ length: n }, () => new Chan()), done = new Chan();
for (let i = 0; i < n; i++) (async (a, b) => {
  for (;;) { const v = await a.recv(); if (v === 0) await done.send(0); else await b.send(v - 1); }
})(q[i], q[(i + 1) % n]);
(async () => {
  for (let r = 0; r < 6; r++) {
    const t = process.hrtime.bigint();
    await q[0].send(hops); await done.recv();
    const e = Number(process.hrtime.bigint() - t);
    if (r) console.log(`RESULT\tring\tnode\t\t${(e / hops).toFixed(1)}\tns/hop`);
  }
  process.exit(0);
})();
