// The request for the next answer, from the messages above it.

function outgoing(node) {
  if (node.role !== 'assistant' || !node.reasoning) return { role: node.role, content: node.content };
  // The template decides whether earlier thoughts are read again.
  return { role: 'assistant', content: node.content, reasoning_content: node.reasoning };
}

/**
 * @param messages the messages above, first to last
 * @param settings as of settings.js
 */
export function completionRequest(model, messages, settings) {
  const said = messages.filter((node) => node.role === 'user' || node.content || node.reasoning);
  const system = settings.system.trim() ? [{ role: 'system', content: settings.system }] : [];
  const body = {
    messages: [...system, ...said.map(outgoing)],
    stream: true,
    stream_options: { include_usage: true },
    return_progress: true,
    ...settings.sampling,
  };
  if (model) body.model = model;
  if (settings.thinking !== 'default')
    body.chat_template_kwargs = { enable_thinking: settings.thinking === 'on' };
  return body;
}
