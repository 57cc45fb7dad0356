// Does work again that failed for a while: after 1, 2, 4, … 30 seconds, or at once where the browser is online again.

const LONGEST = 30; // seconds

export const after = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });

export function again(work) {
  let timer;
  let failures = 0;
  const stop = () => { timer = clearTimeout(timer); };
  const now = () => { stop(); work(); };
  addEventListener("online", () => { if (timer) now(); });
  return {
    stop,
    succeeded() { stop(); failures = 0; },
    failed({ temporary, seconds = 0 }) {
      stop();
      if (temporary) timer = setTimeout(now, 1_000 * Math.max(seconds, Math.min(2 ** failures, LONGEST)));
      failures += 1;
    },
  };
}
