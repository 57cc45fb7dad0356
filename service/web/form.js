// What people do: typing, choosing, pointing, copying.

import { listenToVoices } from "./aloud.js";
import { listenToAlternatives } from "./alternatives.js";
import { choosePair, fit } from "./choices.js";
import { $ } from "./dom.js";
import { listenToEditing } from "./edit.js";
import { listenToExamples } from "./examples.js";
import { load } from "./figure.js";
import { listenToFiles } from "./files.js";
import { listenToGlossary } from "./glossary.js";
import { listenToHistory } from "./history.js";
import { t } from "./i18n.js";
import { forgetOwn, look } from "./inside.js";
import { keepKey } from "./key.js";
import { complain, say } from "./messages.js";
import { settled } from "./requests.js";
import { listenToTabs } from "./results.js";
import { sentences, session, source } from "./session.js";
import { here, remember, state, used } from "./state.js";
import { choose, clear, isCurrent, translate, typed } from "./translation.js";
import { listenToSwitch } from "./typing.js";
import { choose as chooseView, showView } from "./view.js";
import { forgetWords, listenToWords } from "./words.js";

let cleared = ""; // the text that the last "Clear" has taken
let swapped; // what was in both boxes before the last swap, and the text that it has put into the box

// Put a text into the box, as if the visitor had typed it.
function write(text) {
  forgetOwn();
  state.text = $("text").value = text;
  state.sentence = "0";
  forgetWords(text);
  fit();
  remember();
}

// Translate back: the languages change sides, and the translation becomes the text. A second swap gives the first text back.
function swap() {
  const [from, into] = [source(), state.target];
  const text = swapped?.written === state.text ? swapped.text : isCurrent() ? session.translation : state.text;
  swapped = { text: state.text, written: text };
  session.detected = "";
  write(text);
  choosePair({ source: into, target: from });
  if (state.text) translate();
  else clear();
}

// Show a translation of the history again.
function recallTranslation({ source: from, target, text }) {
  write(text);
  choosePair({ source: from, target });
  translate();
}

// Empty the box as its own undo (Ctrl + Z) knows it, and offer to undo that by a button.
function empty() {
  cleared = state.text;
  $("text").select();
  if (!document.execCommand("delete")) $("text").value = "";
  write("");
  clear();
  $("undo").hidden = false;
  $("text").focus();
}

// `open` asks the server anew, `begin` shows what the address says.
export function listen({ open, begin }) {
  $("form").addEventListener("submit", () => {
    state.sentence = "0";
    translate();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("form").requestSubmit();
  });
  for (const name of ["text", "target_text", "alternatives"]) {
    $(name).addEventListener("input", () => { state[name] = $(name).value; remember(); });
  }
  for (const name of ["beam_size", "length_penalty", "formality"]) { // they act at once, within their limits
    $(name).addEventListener("input", () => { state[name] = $(name).value; remember(); typed(); });
    $(name).addEventListener("change", () => { state[name] = $(name).value = settled(name); });
  }
  $("text").addEventListener("input", () => {
    fit();
    forgetWords(state.text);
    typed(state.text.slice(0, $("text").selectionStart));
  });
  listenToSwitch($("typing"), fit);
  listenToWords(choose);
  $("others").addEventListener("click", () => choose($("translation").querySelector("[tabindex='0']"), true));
  listenToAlternatives();
  listenToTabs(chooseView);
  const fold = (event) => document.querySelectorAll(".menu[open]").forEach((menu) => { menu.open = event.type === "pointerdown" && menu.contains(event.target); });
  document.addEventListener("pointerdown", fold);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") fold(event); });
  $("look").addEventListener("pointerenter", () => { load().catch(() => {}); }); // ahead of the click; a view says why it failed
  $("look").addEventListener("click", () => {
    state.view = state.view ? "" : "heatmap";
    remember();
    look().catch(complain).then(() => ["figure", "plain"].forEach((part) => $(part).scrollIntoView({ block: "nearest" }))); // closed ones do not move
  });
  listenToExamples((text) => { write(text); translate(); $("text").focus(); });
  listenToFiles();
  listenToEditing();
  listenToHistory(recallTranslation);
  listenToVoices();
  listenToGlossary(() => typed());
  $("clear").addEventListener("click", empty);
  $("undo").addEventListener("click", () => { write(cleared); translate(); $("text").focus(); });
  $("anyway").addEventListener("click", () => { session.anyway = source(); translate(); });
  $("retry").addEventListener("click", () => translate());
  $("swap").addEventListener("click", swap);
  $("key").addEventListener("change", () => {
    keepKey($("key").value);
    $("error").hidden = true;
    open();
  });
  $("target_text").addEventListener("change", () => { if (sentences().length) look().catch(complain); });
  for (const name of ["source", "target", "model"]) {
    $(name).addEventListener("change", () => {
      if (name === "source") session.detected = "";
      choosePair({ ...(name === "model" && { leg: state.leg }), [name]: $(name).value });
      if (name !== "model") used(state[name]);
      remember();
      if (state.text) translate();
    });
  }
  for (const name of ["kind", "layer", "head", "tokens", "specials"]) {
    $(name).addEventListener("change", () => {
      state[name] = $(name).value;
      if (name === "kind") Object.assign(state, { layer: "", head: "" });
      showView();
    });
  }
  const copied = { "copy-translation": () => session.translation, "copy-link": here, "copy-curl": () => $("curl").textContent };
  for (const [button, text] of Object.entries(copied)) {
    $(button).addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text());
        say(t("Copied"));
      } catch {
        say(t("The browser does not allow this page to copy. Select the text instead."));
      }
    });
  }
  window.addEventListener("hashchange", begin);
}
