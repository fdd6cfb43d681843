// Dark or light: as the system has it, unless the reader chose.
import { prefer, state } from './state.js';

export function applyTheme() {
  const { theme } = state.get();
  const root = document.documentElement;
  if (theme === 'system') delete root.dataset.theme;
  else root.dataset.theme = theme;
}

export const isDark = (theme = state.get().theme) =>
  theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';

export function switchTheme() {
  prefer({ theme: isDark() ? 'light' : 'dark' });
  applyTheme();
}
