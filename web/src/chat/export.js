// A conversation as a file.
import { path, titleOf } from './tree.js';

const kNames = { user: 'You', assistant: 'Answer' };

/** The branch that is shown, for reading. */
export function asMarkdown(conversation) {
  const parts = [`# ${titleOf(conversation)}\n`];
  for (const node of path(conversation)) {
    parts.push(`## ${kNames[node.role]}${node.model ? ` (${node.model})` : ''}\n`);
    if (node.reasoning) parts.push(node.reasoning.replace(/^/gm, '> ') + '\n');
    parts.push(node.content + '\n');
  }
  return parts.join('\n');
}

/** Every branch, for importing it again. */
export const asJson = (conversation) => JSON.stringify(conversation, null, 2) + '\n';

/** A file name that every system takes. */
export function fileName(conversation, ending) {
  const words = titleOf(conversation).toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return `${words.replace(/^-+|-+$/g, '').slice(0, 40) || 'chat'}.${ending}`;
}
