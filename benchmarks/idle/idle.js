setTimeout(() => { }, 3600 * 1000);
setTimeout(() => console.log('everybody waits'), 100);
