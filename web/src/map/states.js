// The states of the experts as the live feed sends them.

/** Index = the number on the wire. */
export const kStates = [
  { name: 'absent', label: 'On disk', hint: 'not in memory' },
  { name: 'loading', label: 'Loading', hint: 'being read right now' },
  { name: 'resident', label: 'In memory', hint: 'ready to be used' },
  { name: 'used', label: 'Just used', hint: 'a token went through it a moment ago' },
  { name: 'bet', label: 'Bet', hint: 'read ahead, expected soon' },
];
export const kLoading = 1;
export const kResident = 2;
export const kUsed = 3;

/** The bytes of a base64 text; missing ones are absent experts, unknown states too. */
export function decodeStates(base64, count) {
  const states = new Uint8Array(count);
  let bytes = '';
  try {
    bytes = atob(base64 ?? '');
  } catch {
    return states;
  }
  for (let i = 0; i < Math.min(count, bytes.length); ++i) {
    const state = bytes.charCodeAt(i);
    states[i] = state < kStates.length ? state : 0;
  }
  return states;
}

/** How many experts are in each state: the whole model's, or one layer's. */
export function countStates(states, begin = 0, end = states.length) {
  const counts = new Array(kStates.length).fill(0);
  for (let i = begin; i < end; ++i) counts[states[i]] += 1;
  return counts;
}

/** One sentence for those who can't see the map. */
export function describe(live) {
  const counts = countStates(live.states);
  const inMemory = live.states.length - counts[0] - counts[1];
  return (
    `${live.layers} layers with ${live.experts} experts each. ` +
    `${inMemory} of ${live.states.length} experts are in memory, ${counts[kUsed]} were just used, ` +
    `${counts[kLoading]} are being read.`
  );
}
