// Colours code. A language that is not here is shown plain, never guessed.
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { escape } from './escape.js';

const kLanguages = {
  bash, cpp, css, diff, go, ini, java, javascript, json, python, rust, sql, typescript, xml, yaml,
};
for (const [name, grammar] of Object.entries(kLanguages)) hljs.registerLanguage(name, grammar);
hljs.registerAliases(['c', 'h', 'cc', 'hpp', 'cu'], { languageName: 'cpp' });

// Colouring repeats with every token that arrives; past this size it would be felt.
const kMaxColoured = 30000;

/** @returns {string} HTML of the code, escaped */
export function highlight(code, language) {
  if (!hljs.getLanguage(language) || code.length > kMaxColoured) return escape(code);
  return hljs.highlight(code, { language, ignoreIllegals: true }).value;
}
