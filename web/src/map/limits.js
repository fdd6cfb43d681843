// What can hold the engine up, in words.

const kNames = {
  disk: 'the disk',
  memory: 'memory',
  compute: 'the processor',
};

const kHints = {
  disk: 'Tokens wait for experts that are being read. More memory for experts would help most.',
  memory: 'Tokens wait for room in memory.',
  compute: 'The processor is busy all the time; experts arrive early enough.',
};

export const limitName = (cause) => kNames[cause] ?? cause;
export const limitHint = (cause) => kHints[cause] ?? '';
