// Translates while the visitor types: soon after the first key, then as often as answers come, and always the latest text.

import { keep, kept } from "./dom.js";

const NAME = "translate-as-you-type"; // in the browser's storage; "off" if it was switched off

let waiting; // the call of `soon` that has not begun its work
let earlier; // the work of an earlier call
let pause = 200; // milliseconds
let on = kept(NAME) !== "off";

export function setPause(milliseconds) {
  if (milliseconds > 0) pause = milliseconds;
}

// Longer texts take the server too long for every pause.
const LONGEST = 2_000; // characters

export const translatesWhileTyping = () => on;
export const isShort = (text) => text.length <= LONGEST;

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

// Call `work`, a promise's function, in a moment, and not before an earlier call of it has ended.
export async function soon(work) {
  if (waiting) return;
  const own = (waiting = {});
  await Promise.allSettled([earlier, new Promise((go) => { setTimeout(go, pause); })]);
  if (waiting !== own) return; // cancelled
  cancelTyped();
  earlier = work();
}
