// Async functions, each awaiting a promise of its own.
const n = Number(process.argv[2]);
const gates = [];
async function blocked() { await new Promise(resolve => gates.push(resolve)); }
const start = process.hrtime.bigint();
for (let i = 0; i < n; i++) blocked();
const took = Number(process.hrtime.bigint() - start) / n;
console.log(`RESULT\tspawn\tnode\t\t${took.toFixed(1)}\tns/process`);
