/** @returns {Promise<boolean>} whether the text is on the clipboard now */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text); // the clipboard is closed to pages without TLS from another machine
  }
}

function copySelected(text) {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand('copy');
  field.remove();
  focused?.focus();
  return isDone;
}
