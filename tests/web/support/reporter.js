// Prints results the way GoogleTest does: scripts/count-tests.awk counts those lines.
// Everything that a failed test said stands between its lines.

const kIndent = '  ';

function failureText({ error }) {
  const cause = error?.cause ?? error;
  return String(cause?.stack ?? cause).replace(/^/gm, kIndent);
}

// Node wraps the tests of a file into one that has the file's name.
const isFile = ({ name }) => name.endsWith('.test.js');

export default async function* report(events) {
  let failed = 0;
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message;
    if ((type !== 'test:pass' && type !== 'test:fail') || (isFile(data) && type === 'test:pass')) continue;
    const took = `(${Math.round(data.details.duration_ms)} ms)`;
    yield `[ RUN      ] ${data.name}\n`;
    if (type === 'test:fail') {
      failed += 1;
      yield `${failureText(data.details)}\n[  FAILED  ] ${data.name} ${took}\n`;
    } else {
      yield `[       OK ] ${data.name} ${took}\n`;
    }
  }
  yield failed ? `${failed} failed\n` : 'all passed\n';
}
