// The API key, where the server asks for one: in this tab's own storage, never in an address.

const NAME = "translucent-key";
let remembered = "";

export function key() {
  try { return sessionStorage.getItem(NAME) ?? remembered; } catch { return remembered; }
}

export function keepKey(value) {
  remembered = value.trim();
  try {
    if (remembered) sessionStorage.setItem(NAME, remembered);
    else sessionStorage.removeItem(NAME);
  } catch { /* a browser that stores nothing: it lasts as long as the page */ }
}

// Headers of a request, with the key if there is one.
export const withKey = (headers = {}) => (key() ? { ...headers, Authorization: `Bearer ${key()}` } : headers);
