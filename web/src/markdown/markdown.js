// Markdown to HTML. HTML inside the text is shown as text, and nothing refers to another host by
// itself: an image elsewhere becomes a link that a reader may follow.
import { Marked } from 'marked';
import { escape } from './escape.js';
import { highlight } from './highlight.js';

const kLink = /^(?:https?:\/\/|mailto:)/i;
const kInlineImage = /^data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/=]+$/i;

function link(href, html) {
  if (!kLink.test(href.trim())) return html;
  const address = escape(href.trim());
  return `<a href="${address}" target="_blank" rel="noopener noreferrer nofollow">${html}</a>`;
}

const asWritten = (text) => `<p class="as-written">${escape(text.trimEnd())}</p>`;

const renderer = {
  html({ text, block }) {
    if (/^<br\s*\/?>$/i.test(text.trim())) return '<br>';
    return block ? asWritten(text) : escape(text);
  },
  link({ href, tokens }) {
    return link(href, this.parser.parseInline(tokens));
  },
  image({ href, text }) {
    if (kInlineImage.test(href)) return `<img src="${href}" alt="${escape(text)}">`;
    return link(href, `<span class="image-link">${escape(text || 'image')}</span>`);
  },
  heading({ tokens, depth }) {
    // The page itself has the first two levels.
    const level = Math.min(6, depth + 2);
    return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
  },
  code({ text, lang }) {
    const language = (lang ?? '').match(/^[\w+#.-]{1,30}/)?.[0].toLowerCase() ?? '';
    return (
      `<div class="code"><div class="code-head"><span>${escape(language || 'text')}</span>` +
      `<button type="button" class="copy-code">Copy</button></div>` +
      `<pre tabindex="0"><code>${highlight(text, language)}\n</code></pre></div>`
    );
  },
  table(token) {
    const row = (cells, tag) => `<tr>${cells.map((cell) => tableCell(this.parser, cell, tag)).join('')}</tr>`;
    return (
      `<div class="table" tabindex="0" role="region" aria-label="Table"><table>` +
      `<thead>${row(token.header, 'th')}</thead>` +
      `<tbody>${token.rows.map((cells) => row(cells, 'td')).join('')}</tbody></table></div>`
    );
  },
  checkbox({ checked }) {
    return `<input type="checkbox" disabled aria-label="${checked ? 'done' : 'open'}"${checked ? ' checked' : ''}> `;
  },
};

function tableCell(parser, cell, tag) {
  const align = cell.align ? ` align="${cell.align}"` : '';
  return `<${tag}${align}>${parser.parseInline(cell.tokens)}</${tag}>`;
}

const marked = new Marked({ gfm: true, renderer });

/** Line ends as the lexer wants them, so that the pieces of its tokens add up to the text. */
export const normalise = (text) => text.replace(/\r\n?/g, '\n');

/**
 * The blocks of a text (paragraphs, lists, code…), with the piece of text that each one took. A text
 * that nests too deeply for the lexer is one block.
 */
export function blocksOf(text) {
  try {
    return marked.lexer(text);
  } catch {
    return [{ type: 'plain', raw: text }];
  }
}

/** HTML of blocks as returned by one call of blocksOf. Not sanitised. */
export function htmlOf(blocks) {
  try {
    if (blocks[0]?.type !== 'plain') return marked.parser(blocks);
  } catch {
    // It nests too deeply for the parser.
  }
  return asWritten(blocks.map(({ raw }) => raw).join(''));
}
