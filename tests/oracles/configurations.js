// node configurations.js COUNT SEED: tokenizer.json texts made of random steps, each with strings,
// their ids and their decoded text, or with "error" where the reference refuses it.
'use strict';
const {Tokenizer, description, model, random, print, flush} = require('./reference.js');
const {makeStrings} = require('./strings.js');

const expressions = [
  '\\s+', '\\p{N}', '\\p{N}{1,3}', '\\p{N}{1,3}+', '[一-龥぀-ゟ゠-ヿ]+', '\\p{Han}+', '[^\\p{Han}\\s]+',
  '\\p{L}+|\\p{M}+', '[^\\s\\p{L}\\p{N}]+[\\r\\n]*', '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
  '(?i:\'s|\'t|\'re|\'ve|\'m|\'ll|\'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
  '[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:\'s|\'t)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s+',
  '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*',
  '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+', '[a-z&&[^aeiou]]+', '[^a-z&&[^aeiou]]+', '[a[^b-z]]',
  '[^\\S\\r\\n]+', '[\\s\\S]', '\\bthe\\b', '\\B\'', '\\w+', '\\W+', '\\d+', '\\D', '\\h+', '\\H', '.', '(?m:.+)',
  '^', '$', '^.', '\\n$', '\\A.', '.\\z', '(?=[A-Z])', '(?<=[a-z])(?=[A-Z])', '(?<!\\s)\\p{P}', '(?>a|ab)c', 'a{,2}',
  'a{2}?', 'a{2,3}?', 'a++b?', 'a*+', 'o|e(?i)T|x', '(?i)STRASSE', '(?i:k|s)', '(?i:[sdmt]|ll|ve|re)', '(?i:[a-z])+', '(?i-m:[a-f]+)', '\\p{^L}+', '\\P{L}+',
  '[\\P{L}]+', '\\x41|\\x{e9}|\\u0041', '[\\x{1F600}-\\x{1F64F}]', '\\p{Letter}+', '\\p{Hiragana}|\\p{Katakana}+|\\p{Hangul}',
  '\\-|\\/|\\_|\\.|\\é', '[]a]', '[-a]+', '[a-]+', '[a-c-e]+', '[a&b]+', '{', 'x{}', 'a{1', ']', '\\p{Cn}', '\\p{Mn}|\\p{Mc}',
  '\\p{So}+', '\\p{Lo}+', '\\p{Nd}+', '\\p{Z}|\\p{C}', '(a)(b)?', '((\\s)|.)+?', 'a||b', '(?:)', '',
  // Refused by one or both.
  '(?s:.)', '\\Z', '\\R', '\\X', '(?<n>a)\\k<n>', '(a)\\1', '\\p{Script=Han}', '[[:alpha:]]+', '(', ')', '[', '*a', '[z-a]',
  '\\p{Foo}', '(?~abc)', '\\G', '(?x) a b', '[\\w-z]', '\\K', '(?<=a+)b', 'a{99999}',
];
const behaviors = ['Isolated', 'Removed', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'];

const letters = (() => {
  const result = [];
  let next = 0x100;
  for (let byte = 0; byte < 256; ++byte) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    result.push(String.fromCodePoint(printable ? byte : next++));
  }
  return result;
})();

function makeModel(rng) {
  const tokens = [...letters];
  const merges = [];
  const common = [...'ĠĊaeiouthsnrlÃ©Ð¸Ñ1.-ä½¸ãģ'];
  for (let count = rng.below(80); count > 0; --count) {
    const recent = () => rng.chance(60) || merges.length === 0 ? rng.pick(common) :
                                                                 rng.pick(tokens.slice(256));
    const pair = [recent(), recent()];
    const joined = pair.join('');
    if (!tokens.includes(joined)) tokens.push(joined);
    if (!merges.some((merge) => merge[0] === pair[0] && merge[1] === pair[1])) merges.push(pair);
  }
  const spelled = rng.chance(50) ? merges : merges.map((merge) => merge.join(' '));
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  return Object.assign({}, model, {vocab, merges: spelled, ignore_merges: rng.chance(30)});
}

function makeSteps(rng) {
  const byteLevel = {
    type: 'ByteLevel', add_prefix_space: rng.chance(25), trim_offsets: true, use_regex: rng.chance(30),
  };
  const split = () => ({
    type: 'Split',
    pattern: rng.chance(85) ? {Regex: rng.pick(expressions)} : {String: rng.pick([' ', '.', 'the', '(x)', '\\n', '$^'])},
    behavior: rng.pick(behaviors), invert: rng.chance(25),
  });
  const pretokenizers = Array.from({length: rng.below(3)}, split);
  pretokenizers.push(byteLevel);
  if (rng.chance(5)) pretokenizers.push(split());
  return pretokenizers.length === 1 ? byteLevel : {type: 'Sequence', pretokenizers};
}

function makeAdded(rng, vocab) {
  let next = Object.keys(vocab).length;
  const contents = ['<s>', '</s>', '<|end|>', '<|end|>x', '  ', '\n\n', 'the', 'é', 'e\u0301', '<mask>', 'né', '\u1100\u1161', '_x', 'x_'];
  const flag = () => rng.chance(25);
  return contents.filter(() => rng.chance(40)).map((content) => ({
    id: content in vocab ? vocab[content] : next++, content, single_word: flag(),
    // White space that rstrip took and lstrip wants makes the reference panic.
    lstrip: content.trim() !== '' && flag(), rstrip: flag(),
    normalized: rng.chance(40), special: rng.chance(50),
  }));
}

function makePostProcessor(rng, added) {
  const byteLevel = {type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true};
  if (added.length === 0 || rng.chance(40)) return rng.chance(50) ? null : byteLevel;
  const token = rng.pick(added);
  const special = {SpecialToken: {id: token.content, type_id: 0}};
  const single = rng.pick([[0, 1], [1, 0], [0, 1, 0], [1]]).map(
      (which) => which === 0 ? special : {Sequence: {id: 'A', type_id: 0}});
  const template = {
    type: 'TemplateProcessing', single, pair: [{Sequence: {id: 'A', type_id: 0}}, {Sequence: {id: 'B', type_id: 1}}],
    special_tokens: {[token.content]: {id: token.content, ids: [token.id], tokens: [token.content]}},
  };
  return rng.chance(50) ? template : {type: 'Sequence', processors: [byteLevel, template]};
}

async function main() {
  const [count, seed] = process.argv.slice(2).map(Number);
  const rng = random(seed);
  for (let index = 0; index < count; ++index) {
    const bpe = makeModel(rng);
    const added = makeAdded(rng, bpe.vocab);
    const byteLevel = {type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true};
    const text = JSON.stringify(description({
      added_tokens: added, model: bpe, pre_tokenizer: makeSteps(rng),
      normalizer: rng.pick([null, {type: 'NFC'}, {type: 'Sequence', normalizers: [{type: 'NFC'}]}, {type: 'Sequence', normalizers: []}]),
      post_processor: makePostProcessor(rng, added), decoder: byteLevel,
    }));
    let tokenizer;
    try {
      tokenizer = Tokenizer.fromString(text);
    } catch (error) {
      print({description: text, error: String(error)});
      continue;
    }
    const next = makeStrings(rng, added.length > 0 ? added.map((token) => token.content) : ['<s>']);
    const texts = Array.from({length: 13}, (_, each) => next(13 * index + each));
    texts.push('', 'a', 'aaaaa', 'the theme', 'getHTTPName don\'T', 'ſ K ß SS strasse STRASSE', 'ab\nabc\n', ' <s> the<s>the  </s>  x ');
    const cases = [];
    for (const each of texts) {
      const ids = (await tokenizer.encode(each, null, {addSpecialTokens: false})).getIds();
      const withSpecial = (await tokenizer.encode(each, null, {addSpecialTokens: true})).getIds();
      cases.push({
        text: each, ids, withSpecial, decoded: await tokenizer.decode(ids, false),
        skipped: await tokenizer.decode(ids, true),
      });
    }
    print({description: text, cases});
  }
  flush();
}
main();
