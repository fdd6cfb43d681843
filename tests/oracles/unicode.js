// The Unicode of the reference library, one JSON object a line:
//   {"class": "\\p{Lu}", "ranges": [[first, last], ...]}   what a class of its regex engine holds
//   {"step": "NFC", "from": text, "to": text}              what a normaliser changes
// over the code points that any Unicode version so far has given a meaning.
'use strict';
const {splitter, preTokenizer, normalizer, print, flush} = require('./reference.js');

const classes = ['Lu', 'Ll', 'Lt', 'Lm', 'Lo', 'Mn', 'Mc', 'Me', 'Nd', 'Nl', 'No', 'Pc', 'Pd', 'Ps',
                 'Pe', 'Pi', 'Pf', 'Po', 'Sm', 'Sc', 'Sk', 'So', 'Zs', 'Zl', 'Zp', 'Cc', 'Cf', 'Cn']
                    .map((category) => `\\p{${category}}`)
                    .concat('\\s', '\\w', '\\p{Han}', '\\p{Hiragana}', '\\p{Katakana}', '\\p{Hangul}');

// Text in chunks: [first code point, all characters of the chunk].
const chunks = [];
for (const [begin, end] of [[0, 0xd800], [0xe000, 0x33000], [0xe0000, 0xe1000]])
  for (let first = begin; first < end; first += 0x800)
    chunks.push(String.fromCodePoint(
        ...Array.from({length: Math.min(0x800, end - first)}, (_, offset) => first + offset)));

// The characters that a pre-tokenizer drops, or makes a piece of.
function rangesOf(steps) {
  const ranges = [];
  for (const chunk of chunks) {
    for (const [piece] of steps.preTokenizeString(chunk)) {
      const first = piece.codePointAt(0);
      const last = first + [...piece].length - 1;
      const previous = ranges[ranges.length - 1];
      if (previous && previous[1] === first - 1) previous[1] = last;
      else ranges.push([first, last]);
    }
  }
  return ranges;
}

for (const name of classes) print({class: name, ranges: rangesOf(splitter(name + '+', 'Removed', true))});
// What is left when the class is removed.
print({without: 'Punctuation', ranges: rangesOf(preTokenizer({type: 'Punctuation', behavior: 'Removed'}))});
// The text cut at numbers: each piece that is one is told from the others by its length alone.
const digits = preTokenizer({type: 'Digits', individual_digits: true});
print({
  numbers: chunks.flatMap((chunk) => [...chunk])
               .filter((character) => digits.preTokenizeString('a' + character).length === 2)
               .map((character) => character.codePointAt(0)),
});

// Each character alone, and between a letter and marks that sort before and after it.
for (const step of ['NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase']) {
  const normal = normalizer({type: step});
  for (const chunk of chunks) {
    for (const character of chunk) {
      const contexts = [character];
      if (step === 'NFC' || step === 'NFKD') contexts.push('a\u0345' + character + '\u0334', character + '\u3099');
      for (const from of contexts) {
        const to = normal.normalizeString(from);
        if (to !== from) print({step, from, to});
      }
    }
  }
}
flush();
