// Reads a text and its translation aloud, where the browser has a voice for the language.

import { $ } from "./dom.js";
import { base } from "./i18n.js";
import { session, source } from "./session.js";
import { state } from "./state.js";

const speech = window.speechSynthesis;
const TEXTS = {
  "hear-text": () => [state.text, source()],
  "hear-translation": () => [session.translation, session.translation && state.target],
};
const voiceOf = (code) => (code ? speech?.getVoices().find(({ lang }) => base(lang) === base(code)) : undefined);

// Offer what can be read.
export function showVoices() {
  for (const [id, of] of Object.entries(TEXTS)) $(id).hidden = !of()[0].trim() || !voiceOf(of()[1]);
}

function read(id) {
  const again = $(id).ariaPressed === "true";
  speech.cancel();
  if (again) return;
  const [text, code] = TEXTS[id]();
  const spoken = Object.assign(new SpeechSynthesisUtterance(text), { lang: code, voice: voiceOf(code) });
  const end = () => { $(id).ariaPressed = "false"; };
  Object.assign(spoken, { onend: end, onerror: end });
  $(id).ariaPressed = "true";
  speech.speak(spoken);
}

export function listenToVoices() {
  speech?.addEventListener?.("voiceschanged", showVoices);
  for (const id of Object.keys(TEXTS)) $(id).addEventListener("click", () => read(id));
  addEventListener("pagehide", () => speech?.cancel());
}
