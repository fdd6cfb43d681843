// What can hold the engine up, in words.

const kNames = {
  disk: 'the disk',
  memory: 'memory bandwidth',
  compute: 'the processor',
  queue: 'the queue',
  idle: 'nothing',
};

const kHints = {
  disk: 'Tokens wait for experts that are being read. More memory for experts would help most.',
  memory: 'Weights come from memory as fast as it delivers them.',
  compute: 'The processor is busy all the time; experts arrive early enough.',
  queue: 'Requests wait for one another.',
};

export const limitName = (cause) => kNames[cause] ?? cause;
export const limitHint = (cause) => kHints[cause] ?? '';
