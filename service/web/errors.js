// What the visitor can do about an error of the server, by its code. In English the server says it.

import { language, t } from "./i18n.js";

// Of files, in every language: the server's sentences are for programs.
const FILES = [
  ["unsupported_document", () => t("Files of this kind cannot be translated. Save it as .docx, .odt, .html or .txt.")],
  ["format_not_installed", () => t("This server does not read files of this kind. Save it as .txt or .html, or ask its operator.")],
  ["broken_document", () => t("This file is damaged, or it is not what its name says. Open it in its program and save it again.")],
  ["unsafe_document", () => t("This file is refused because it has macros, a password or other active content. Save a copy without them.")],
  ["document_encoding", () => t("The characters of this file cannot be read. Save it as UTF-8.")],
  ["document_too_large", () => t("This file is too large for this server. Divide it into smaller files.")],
  ["jobs_full jobs_unavailable", () => t("The server has no room for more files at present. Remove finished ones, or try again later.")],
  ["unknown_job job_not_done", () => t("The translation of this file is no longer there. Translate it again.")],
  ["body_too_large", () => t("This is too large for this server.")],
];

const SENTENCES = [
  ...FILES,
  ["invalid_document", () => t("The languages of this file were not recognised, or are not those that were chosen. Choose them above the text.")],
  ["input_too_long character_limit", () => t("The text is too long for this server. Shorten it.")],
  ["unsupported_language unsupported_pair", () => t("No model translates between these languages. Choose other languages.")],
  ["unknown_model model_changed", () => t("This model is no longer there. Load the page again.")],
  ["key_required invalid_key", () => t("The API key is missing or wrong.")],
  ["invalid_glossary", () => t("Your terms cannot be used. Each word needs one line, and a translation of at most 200 characters.")],
  ["too_many_weights", () => t("This is too much for one figure. Choose words, one layer and one head, or a shorter sentence.")],
  ["different_tokens", () => t("The two models cut these texts into different tokens. Choose words under “Details”.")],
  ["overloaded stopping engine_failure not_ready interrupted model_not_opened deadline_exceeded not_enough_memory rate_limit bodies_full",
    () => t("The server is busy. Try again in a moment.")],
];

// The Error for the body of an answer, which may be a proxy's.
export function errorOf({ error, code }, otherwise) {
  const said = (sentences) => sentences.find(([codes]) => codes.split(" ").includes(code))?.[1]();
  const own = language === "en" || !code ? said(FILES) : said(SENTENCES) ?? t("The server does not accept this. Choose other options, or load the page again.");
  return Object.assign(new Error(own ?? (error || otherwise)), { code, fromServer: !own && Boolean(error) });
}
