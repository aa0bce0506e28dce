// Node's koffi, which NODE_PATH must find: calls.js LIBRARY calls|long SIZE
const koffi = require('koffi');
const [path, workload, text] = process.argv.slice(2);
const library = koffi.load(path);
const getInt = library.func('int get_int()');
const sleep = library.func('int sleep_ms(int)');
const size = Number(text);

function report(detail, value, unit) {
  console.log(`RESULT\t${workload}\tkoffi\t${detail}\t${value.toFixed(3)}\t${unit}`);
}

function calls() {
  let sum = 0;
  const begin = process.hrtime.bigint();
  for (let i = 0; i < size; i++) sum += getInt();
  const time = Number(process.hrtime.bigint() - begin);
  if (sum !== 42 * size) throw new Error(`${sum}`);
  report('get_int', time / size, 'ns');
}

const nap = () =>
  new Promise((resolve, reject) => sleep.async(size, (error, value) => (error ? reject(error) : resolve(value))));

async function naps(count) {
  const begin = process.hrtime.bigint();
  await Promise.all(Array.from({ length: count }, nap));
  report(`${count} at a time`, Number(process.hrtime.bigint() - begin) / 1e6, 'ms');
}

if (workload === 'calls') {
  for (let round = 0; round < 3; round++) calls();
} else {
  naps(1).then(() => naps(2)).then(() => naps(100));
}
