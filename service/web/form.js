// What people do: typing, choosing, pointing, copying.

import { fit, showChoices } from "./choices.js";
import { listenToExamples } from "./examples.js";
import { listenToFiles } from "./files.js";
import { listenToGlossary } from "./glossary.js";
import { t } from "./i18n.js";
import { keepKey } from "./key.js";
import { complain, say } from "./messages.js";
import { showTitles, wantsBoth } from "./second.js";
import { sentences, session, source } from "./session.js";
import { VIEWS, here, remember, state } from "./state.js";
import { clear, look, translate } from "./translation.js";
import { afterPause, cancelTyped, isShort, listenToSwitch, translatesWhileTyping } from "./typing.js";
import { choose, showView } from "./view.js";

const $ = (id) => document.getElementById(id);

// Put a text into the box, as if the visitor had typed it.
function write(text) {
  state.text = $("text").value = text;
  state.sentence = "0";
  fit();
  remember();
}

// Translate back: the languages change sides, and the translation becomes the text.
function swap() {
  const [from, into] = [source(), state.target];
  const text = $("translation").textContent || state.text;
  session.detected = "";
  Object.assign(state, { source: into, target: from, model: "", leg: "1", layer: "", head: "" });
  write(text);
  showChoices();
  if (state.text) translate();
  else clear();
}

// `open` asks the server anew, `begin` shows what the address says.
export function listen({ open, begin }) {
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    state.sentence = "0";
    translate();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("form").requestSubmit();
  });
  for (const name of ["text", "target_text", "beam_size", "length_penalty", "alternatives"]) {
    $(name).addEventListener("input", () => { state[name] = $(name).value; remember(); });
  }
  $("text").addEventListener("input", () => {
    fit();
    if (!state.text) clear();
    else if (translatesWhileTyping() && !state.live && session.models.length) {
      if (isShort(state.text)) return afterPause(() => translate({ typed: true }));
      cancelTyped();
      say(t("A long text is not translated as you type. Choose Translate, or press Ctrl + Enter."));
    }
  });
  listenToSwitch($("typing"));
  listenToExamples((text) => { write(text); translate(); $("text").focus(); });
  listenToFiles();
  listenToGlossary(() => { if (state.text && session.models.length) translate(); });
  $("clear").addEventListener("click", () => { write(""); clear(); $("text").focus(); });
  $("swap").addEventListener("click", swap);
  $("both-models").addEventListener("change", () => {
    state.both = $("both-models").checked ? "1" : "";
    showTitles();
    remember();
    if (wantsBoth() && state.text) translate();
  });
  $("key").addEventListener("change", () => {
    keepKey($("key").value);
    $("error").hidden = true;
    open();
  });
  $("target_text").addEventListener("change", () => { if (sentences().length) look().catch(complain); });
  $("live").addEventListener("change", () => { state.live = $("live").checked ? "1" : ""; remember(); });
  for (const name of ["source", "target", "model"]) {
    $(name).addEventListener("change", () => {
      state[name] = $(name).value;
      if (name !== "model") Object.assign(state, { model: "", leg: "1" });
      if (name === "source") session.detected = "";
      Object.assign(state, { layer: "", head: "" });
      showChoices();
      remember();
      if (state.text && sentences().length) translate();
    });
  }
  for (const name of ["kind", "layer", "head", "tokens", "specials"]) {
    $(name).addEventListener("change", () => {
      state[name] = $(name).value;
      if (name === "kind") Object.assign(state, { layer: "", head: "" });
      showView();
    });
  }
  $("views").addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab.dataset.view);
  });
  $("views").addEventListener("keydown", (event) => {
    const at = VIEWS.indexOf(state.view);
    const next = { ArrowRight: (at + 1) % VIEWS.length, ArrowLeft: (at + VIEWS.length - 1) % VIEWS.length, Home: 0, End: VIEWS.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(VIEWS[next]);
    $(`tab-${VIEWS[next]}`).focus();
  });
  const copied = { "copy-translation": () => $("translation").textContent, "copy-second": () => $("second-translation").textContent, "copy-link": here, "copy-curl": () => $("curl").textContent };
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
