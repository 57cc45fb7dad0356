// Translates while the visitor types: after a pause, and only the latest text.

const NAME = "translate-as-you-type"; // in the browser's storage; "off" if it was switched off

let waiting;
let pause = 500; // milliseconds
let on = true;
try { on = localStorage.getItem(NAME) !== "off"; } catch { /* a browser that stores nothing */ }

export function setPause(milliseconds) {
  if (milliseconds > 0) pause = milliseconds;
}

// Longer texts take the server too long for every pause.
const LONGEST = 2_000; // characters

export const translatesWhileTyping = () => on;
export const isShort = (text) => text.length <= LONGEST;

// `box` is the switch.
export function listenToSwitch(box) {
  box.checked = on;
  box.addEventListener("change", () => {
    on = box.checked;
    try {
      if (on) localStorage.removeItem(NAME);
      else localStorage.setItem(NAME, "off");
    } catch { /* the choice lasts as long as the page */ }
    if (!on) cancelTyped();
  });
}

export function cancelTyped() {
  clearTimeout(waiting);
}

// Call `work` when the visitor has paused, unless this is called again or cancelled before.
export function afterPause(work) {
  cancelTyped();
  waiting = setTimeout(work, pause);
}
