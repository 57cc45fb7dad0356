// What the visitor can do about an error of the server, by its code. In English the server says it.

import { language, t } from "./i18n.js";

const SENTENCES = [
  ["input_too_long character_limit body_too_large", () => t("The text is too long for this server. Shorten it.")],
  ["unsupported_language unsupported_pair", () => t("No model translates between these languages. Choose other languages.")],
  ["unknown_model model_changed", () => t("This model is no longer there. Load the page again.")],
  ["key_required invalid_key", () => t("The API key is missing or wrong.")],
  ["invalid_glossary", () => t("Your terms cannot be used. Each word needs one line, and a translation of at most 200 characters.")],
  ["too_many_weights", () => t("This is too much for one figure. Choose words, one layer and one head, or a shorter sentence.")],
  ["different_tokens", () => t("The two models cut these texts into different tokens. Choose words under “Details”.")],
  ["unsupported_document unsupported_format format_not_installed invalid_document broken_document unsafe_document document_encoding document_too_large",
    () => t("This file cannot be translated. It is of an unknown kind, damaged or too large.")],
  ["unknown_job job_not_done", () => t("The translation of this file is no longer there. Translate it again.")],
  ["overloaded stopping engine_failure jobs_unavailable not_ready interrupted model_not_opened deadline_exceeded not_enough_memory rate_limit jobs_full bodies_full",
    () => t("The server is busy. Try again in a moment.")],
];

// The Error for the body of an answer, which may be a proxy's.
export function errorOf({ error, code }, otherwise) {
  const own = language === "en" || !code ? undefined : SENTENCES.find(([codes]) => codes.split(" ").includes(code))?.[1]() ?? t("The server does not accept this. Choose other options, or load the page again.");
  return Object.assign(new Error(own ?? (error || otherwise)), { code, fromServer: !own && Boolean(error) });
}
