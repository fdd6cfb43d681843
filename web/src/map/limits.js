// What can hold the engine up, in words.

const kNames = {
  disk: 'the disk',
  memory: 'memory',
  compute: 'the processor',
  queue: 'the queue',
};

const kHints = {
  disk: 'Tokens wait for experts that are read from the disk.',
  memory: 'Experts are read again and again, because memory keeps too few. More of it would help most.',
  compute: 'The processor is busy all the time; experts arrive early enough.',
  queue: 'Requests wait for others to end.',
};

export const limitName = (cause) => kNames[cause] ?? cause;
export const limitHint = (cause) => kHints[cause] ?? '';
