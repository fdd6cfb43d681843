// The API key lives as long as the tab, and nowhere else.

const kName = 'smoe.key';
let kept = '';

/** @returns {string} '' without one */
export function apiKey() {
  try {
    return sessionStorage.getItem(kName) ?? '';
  } catch {
    return kept; // storage is blocked: until the page is reloaded
  }
}

export function setApiKey(key) {
  kept = key;
  try {
    if (key) sessionStorage.setItem(kName, key);
    else sessionStorage.removeItem(kName);
  } catch {
    // kept already
  }
}
