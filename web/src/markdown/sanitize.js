// The second wall. The renderer escapes what it does not know; this removes what could be harmful
// even if the renderer, or a library below it, were wrong.
import createDOMPurify from 'dompurify';

const kTags = [
  'a', 'blockquote', 'br', 'button', 'code', 'del', 'div', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'img',
  'input', 'li', 'ol', 'p', 'pre', 'span', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul',
];
const kAttributes = [
  'align', 'alt', 'aria-label', 'checked', 'class', 'disabled', 'href', 'rel', 'role', 'src', 'start',
  'tabindex', 'target', 'type',
];
const kOptions = {
  ALLOWED_TAGS: kTags,
  ALLOWED_ATTR: kAttributes,
  // The pattern of addresses below is for addresses: these hold none.
  ADD_URI_SAFE_ATTR: kAttributes.filter((name) => !['href', 'src'].includes(name)),
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/(?:png|jpeg|gif|webp);base64,)/i,
};

function tighten(node) {
  if (node.tagName === 'A' && !/^(?:https?|mailto):/i.test(node.getAttribute('href') ?? ''))
    node.removeAttribute('href');
  if (node.hasAttribute('src') && !/^data:image\//i.test(node.getAttribute('src')))
    node.removeAttribute('src');
  if (node.tagName === 'INPUT' && node.getAttribute('type') !== 'checkbox') node.remove();
}

/** @param window the DOM to work in: the browser's, or a test's */
export function makeSanitizer(window) {
  const purify = createDOMPurify(window);
  purify.addHook('afterSanitizeAttributes', tighten);
  return (html) => purify.sanitize(html, kOptions);
}
