// Translates while the visitor types: a word when it is complete or the keys pause, then as often as answers come, and always the latest text.

import { after } from "./again.js";
import { keep, kept } from "./dom.js";

const NAME = "translate-as-you-type"; // in the browser's storage; "off" if it was switched off
const LONGEST = 500; // milliseconds that half a word waits at most
const PATIENCE = 3_000; // milliseconds that a new text waits for the answer to an earlier one
const HALF = /[\p{L}\p{M}\p{N}'’-]$/u; // before the cursor: a word that may go on

let waiting; // the call of `soon` that has not begun its work
let earlier; // the work of an earlier call
let pause = 200; // milliseconds
let on = kept(NAME) !== "off";
let [last, gap] = [0, 0]; // when the last key was pressed, and the usual time between two

export function setPause(milliseconds) {
  if (milliseconds > 0) pause = milliseconds;
}

export const translatesWhileTyping = () => on;

// `box` is the switch, `changed` is called when it was used.
export function listenToSwitch(box, changed) {
  box.checked = on;
  box.addEventListener("change", () => {
    on = box.checked;
    keep(NAME, on ? "" : "off");
    if (!on) cancelTyped();
    changed();
  });
}

export function cancelTyped() {
  waiting = undefined;
}

// How long a text waits for the next key; `before` is what stands before the cursor.
export function pauseAfter(before) {
  const now = performance.now();
  gap = 0.7 * gap + 0.3 * Math.min(now - last, LONGEST / 2);
  last = now;
  return HALF.test(before) ? Math.max(pause, Math.min(2 * gap, LONGEST)) : pause / 4;
}

// Call `work`, a promise's function, after a time, unless another call follows, and not while an earlier one may still be answered.
export async function soon(work, milliseconds = pause) {
  const own = (waiting = {});
  await after(milliseconds);
  if (waiting !== own) return; // another key, or cancelled
  await Promise.race([Promise.allSettled([earlier]), after(PATIENCE)]);
  if (waiting !== own) return;
  cancelTyped();
  earlier = work();
}
