// Async functions that do nothing but yield, through the queue of microtasks.
const loop = async k => { for (let j = 0; j < k; j++) await null; };

(async () => {
  for (let round = 0; round < 6; round++)
    for (const n of [2, 10]) {
      const k = 4e6 / n, start = process.hrtime.bigint();
      await Promise.all(Array.from({ length: n }, () => loop(k)));
      const took = Number(process.hrtime.bigint() - start) / (n * k);
      if (round) console.log(`RESULT\tyielding\tnode\t${n} at a time\t${took.toFixed(1)}\tns/switch`);
    }
})();
