// Starts the page: asks what the server offers, and shows what the address after # says.

import { again } from "./again.js";
import { get } from "./api.js";
import { fit, showChoices } from "./choices.js";
import { $ } from "./dom.js";
import { labelExplanation, listenToExplanation } from "./explain.js";
import { offerFiles } from "./files.js";
import { listen } from "./form.js";
import { loadGlossaries } from "./glossary.js";
import { startLanguage, t } from "./i18n.js";
import { look } from "./inside.js";
import { key } from "./key.js";
import { askForKey, complain, say } from "./messages.js";
import { session } from "./session.js";
import { recall, state } from "./state.js";
import { followTheme } from "./theme.js";
import { clear, showResults, translate } from "./translation.js";
import { setPause } from "./typing.js";

const opening = again(() => start());

function begin() {
  showChoices();
  if (state.text) translate();
  else clear();
}

// Ask what the server offers and how, and show what the address says; again, if it is not ready yet.
async function start() {
  try {
    const settings = await get("frontend/settings");
    session.limit = settings.charLimit > 0 ? settings.charLimit : Infinity; // -1 would mean no limit
    setPause(settings.frontendTimeout);
    fit();
    if (settings.keyRequired) {
      askForKey();
      if (!key()) return say(t("Enter your API key to begin."));
      $("text").focus();
    }
    [session.models, session.languages] = await Promise.all([get("models?brief=true").then((answer) => answer.models), get("languages")]);
    $("error").hidden = true;
    say(session.models.length ? "" : t("No model is loaded yet. Try again in a moment."));
    if (!session.models.length) return opening.failed({ temporary: true });
    opening.succeeded();
    begin();
    offerFiles(settings.supportedFilesFormat ?? []); // their languages are known now
    loadGlossaries();
  } catch (error) {
    complain(error);
    opening.failed(error);
  }
}

recall();
listen({ open: start, begin: () => { recall(); begin(); } });
await startLanguage($("language"));
addEventListener("language", () => {
  say("");
  showChoices();
  showResults();
  labelExplanation();
  look().catch(complain);
});
listenToExplanation();
followTheme($("theme"), () => { look().catch(complain); });
start();
