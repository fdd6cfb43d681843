// Strings that tokenizers have been seen to disagree about.
'use strict';

const spaces = [...' \t\n\r\v\f\u0085\u00a0\u1680\u180e\u2000\u2003\u2009\u200a\u200b\u2028\u2029' +
                '\u202f\u205f\u3000\ufeff', '\r\n', '  ', '    '];
const words =
    ('the Once upon Time HELLO don\'t I\'LL we\'Ve it\'s \'tis naïve Größe straße façade Ελληνικά ' +
     'Привет мир שלום مرحبا بالعالم नमस्ते สวัสดี 你好世界 こんにちは カタカナ 한국어 ไทย ქართული ' +
     'Tiếng Việt ﬁne ﬀ ſo K Å İstanbul ŉ ǅ ᾳ ² ½ Ⅷ ㊙ １２３ ٣٤٥ x_y __init__ camelCase ' +
     'HTTPServer 3.14 1e-07 0xFF 1,234,567').split(' ');
const code = [
  '->', '(x):\n', '    return ', 'for (int i = 0; i < n; ++i) {\n', '}\n\n', '#include <', '>\n',
  'def ', '=> ', '!==', '::', ' && ', '||', '\t\t', '/* ', ' */', '//', '"\\n"', '$', '@', '`',
  'std::vector<int>', '[i]', '.', ';', ', ', '{}', '();\n', '\\', '_', '%', '^', '~', '...', '--',
];
const emoji = [
  '😀', '👍', '🏽', '👨‍👩‍👧‍👦', '🇩🇪', '🏳️‍🌈', '❤️', '\u200d', '\ufe0f', '\u20e3', '1️⃣', '🫩', '🪾', '🧑🏿‍🚀',
  '☺', '⌚', '\u{e0067}', '\u{1fae9}',
];
const marks = [
  '\u0300', '\u0301', '\u0308', '\u0323', '\u0327', '\u0345', '\u0334', '\u05b0', '\u0650',
  '\u093c', '\u0f71', '\u0f72', '\u1161', '\u11a8', '\u1100', '\uac00', '\u3099', '\u309a',
  '\u0898', '\u1abf', '\u1df6', '\u{1e08f}', '\u{11935}\u{11930}', '\u{11930}', '\u{1d15e}',
  '\u212b', '\u2126', '\u0958', '\ufb1d', '\u0344', '\u{110a5}\u{110ba}',
];
const contractions = ['\'s', '\'S', '\'t', '\'re', '\'VE', '\'m', '\'Ll', '\'d', '\'ſ', '’s', '\'', ' \'s'];

// Every block of 128 code points that has characters, and some that have none.
const blocks = [];
for (let first = 0x80; first < 0x110000; first += 0x80) {
  if (first >= 0xd800 && first < 0xe000) continue;
  let assigned = false;
  for (let code = first; code < first + 0x80 && !assigned; ++code)
    assigned = !/\p{Cn}|\p{Co}/u.test(String.fromCodePoint(code));
  const ideographs = first >= 0x3400 && first < 0x32400 && /\p{sc=Han}|\p{sc=Hang}/u.test(
      String.fromCodePoint(first + 0x40));
  if (ideographs ? first % 0x800 === 0 : assigned || first % 0x4000 === 0) blocks.push(first);
}

function makeStrings(rng, specials) {
  const {below, chance, pick, times} = rng;
  const ofBlock = (block) => String.fromCodePoint(block + below(0x80));
  const gap = () => chance(70) ? ' ' : pick(spaces);
  const kinds = [
    (index) => times(1, 24, () => chance(20) ? gap() : ofBlock(blocks[index % blocks.length])),
    () => times(1, 16, () => chance(30) ? gap() : ofBlock(pick(blocks))),
    () => times(1, 20, () => pick(code) + (chance(30) ? pick(words) : '')),
    () => times(1, 12, () => chance(30) ? gap() : pick(emoji)),
    () => times(1, 16, () => chance(25) ? pick(words) : pick(spaces)),
    () => times(1, 10, () => chance(50) ? pick(specials) : pick(words) + gap()),
    // Pieces of special tokens: what looks like one and is none.
    () => times(1, 8, () => {
      const special = pick(specials);
      const cut = below(special.length + 1);
      return chance(50) ? special.slice(0, cut) : special.slice(cut);
    }),
    () => times(1, 16, () => chance(35) ? pick(words).slice(0, 1) : pick(marks)),
    () => times(1, 12, () => pick(words) + pick(contractions) + (chance(50) ? gap() : '')),
    () => times(1, 12, () => chance(60) ? String(below(10 ** (1 + below(9)))) : pick(code)),
    () => times(1, 60, () => String.fromCharCode(below(0x80))),
    () => (chance(50) ? pick(words).slice(0, 1) : pick(spaces)).repeat(1 + below(300)) + pick(words),
    () => times(1, 40, () => pick(words) + gap()),
  ];
  return (index) => kinds[index % kinds.length](Math.floor(index / kinds.length));
}

module.exports = {makeStrings};
