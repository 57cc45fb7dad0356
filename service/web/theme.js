// Light or dark: what the device prefers, or what was chosen here, which the browser keeps.

import { keep, kept } from "./dom.js";
import { t } from "./i18n.js";

const root = document.documentElement;
const preference = matchMedia("(prefers-color-scheme: dark)");

export function dark() {
  const chosen = root.dataset.theme;
  return chosen ? chosen === "dark" : preference.matches;
}

// `button` says what it does; `changed` is called when colours have changed.
export function followTheme(button, changed = () => {}) {
  if (kept("theme")) root.dataset.theme = kept("theme");
  const show = () => {
    button.textContent = dark() ? t("Light") : t("Dark");
    button.setAttribute("aria-label", dark() ? t("Light colours") : t("Dark colours"));
  };
  const change = () => { show(); changed(); };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    keep("theme", root.dataset.theme);
    change();
  });
  preference.addEventListener("change", change);
  addEventListener("language", show);
  show();
}
