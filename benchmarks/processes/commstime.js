// CommsTime with async functions and a hand-made rendezvous channel.
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
const n = +(process.argv[2] || 500000);
const a = new Chan(), b = new Chan(), c = new Chan(), d = new Chan();
(async () => { await a.send(0); for (;;) await a.send(await b.recv()); })();
(async () => { for (;;) { const v = await a.recv(); await c.send(v); await d.send(v); } })();
(async () => { for (;;) await b.send((await c.recv()) + 1); })();
(async () => {
  for (let i = 0; i < n; i++) await d.recv();
  for (let r = 0; r < 5; r++) {
    const t = process.hrtime.bigint();
    for (let i = 0; i < n; i++) await d.recv();
    const e = Number(process.hrtime.bigint() - t);
    console.log(`RESULT\tcommstime\tnode\t\t${(e / n).toFixed(1)}\tns/iter`);
  }
  process.exit(0);
})();
