// Sampling and the system prompt. What is left empty is decided by the model's own settings.

/**
 * Every number that a request may carry. `name` is the field of the request, `empty` what it means
 * to leave it out.
 */
export const kSamplingFields = [
  { name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 0.05, hint: '0 always takes the likeliest token' },
  { name: 'top_p', label: 'Top p', min: 0, max: 1, step: 0.01, hint: 'the likeliest tokens that together reach this share' },
  { name: 'top_k', label: 'Top k', min: 0, max: 1000, step: 1, hint: 'this many of the likeliest tokens; 0 is all' },
  { name: 'min_p', label: 'Min p', min: 0, max: 1, step: 0.01, hint: 'tokens at least this likely, compared with the likeliest' },
  { name: 'seed', label: 'Seed', empty: 'random', min: 0, max: 4294967295, step: 1, hint: 'the same seed gives the same answer again' },
  { name: 'max_tokens', label: 'Longest answer', empty: 'no limit', min: 1, max: 1048576, step: 1, hint: 'in tokens' },
];

export const kDefaultSettings = Object.freeze({ system: '', thinking: 'default', sampling: {} });

/** Settings as they may be used, from whatever was stored. */
export function settingsFrom(value) {
  const sampling = {};
  for (const field of kSamplingFields) {
    const number = value?.sampling?.[field.name];
    if (Number.isFinite(number)) sampling[field.name] = within(field, number);
  }
  return {
    system: typeof value?.system === 'string' ? value.system : '',
    thinking: ['on', 'off'].includes(value?.thinking) ? value.thinking : 'default',
    sampling,
  };
}

/** The nearest value that the field allows. */
export function within(field, number) {
  const bounded = Math.min(field.max, Math.max(field.min, number));
  return field.step === 1 ? Math.round(bounded) : bounded;
}
