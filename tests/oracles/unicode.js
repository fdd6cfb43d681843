// The Unicode of the reference library, one JSON object a line:
//   {"class": "\\p{Lu}", "ranges": [[first, last], ...]}   what a class of its regex engine holds
//   {"from": text, "nfc": text}                            what normalisation changes
// over the code points that any Unicode version so far has given a meaning.
'use strict';
const {splitter, nfcNormalizer, print, flush} = require('./reference.js');

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

for (const name of classes) {
  const split = splitter(name + '+', 'Removed', true);
  const ranges = [];
  for (const chunk of chunks) {
    for (const [piece] of split.preTokenizeString(chunk)) {
      const first = piece.codePointAt(0);
      const last = first + [...piece].length - 1;
      const previous = ranges[ranges.length - 1];
      if (previous && previous[1] === first - 1) previous[1] = last;
      else ranges.push([first, last]);
    }
  }
  print({class: name, ranges});
}

// Each character alone, and between a letter and marks that sort before and after it.
const nfc = nfcNormalizer();
for (const chunk of chunks) {
  for (const character of chunk) {
    for (const from of [character, 'a\u0345' + character + '\u0334', character + '\u3099']) {
      const to = nfc.normalizeString(from);
      if (to !== from) print({from, nfc: to});
    }
  }
}
flush();
