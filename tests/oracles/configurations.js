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

// Pairs of tokens that join into one, spelled in one of the two ways.
function makeMerges(rng, tokens, common, count) {
  const merges = [];
  const made = [];
  for (; count > 0; --count) {
    const one = () => rng.chance(60) || made.length === 0 ? rng.pick(common) : rng.pick(made);
    const pair = [one(), one()];
    const joined = pair.join('');
    if (!tokens.includes(joined)) {
      tokens.push(joined);
      made.push(joined);
    }
    if (!merges.some((merge) => merge[0] === pair[0] && merge[1] === pair[1])) merges.push(pair);
  }
  return rng.chance(50) ? merges : merges.map((merge) => merge.join(' '));
}

const withIds = (tokens) => Object.fromEntries(tokens.map((token, id) => [token, id]));

function makeByteModel(rng) {
  const tokens = [...letters];
  const merges = makeMerges(rng, tokens, [...'ĠĊaeiouthsnrlÃ©Ð¸Ñ1.-ä½¸ãģ'], rng.below(80));
  return Object.assign({}, model, {vocab: withIds(tokens), merges, ignore_merges: rng.chance(30)});
}

const characters = [...'▁aeiouthsnrlcdxTIé.-1你привет'];
const bytes = Array.from({length: 256}, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);

// A model over characters, as SentencePiece makes them.
function makePieceModel(rng) {
  const tokens = ['<unk>', '<s>', '</s>'];
  const withBytes = rng.chance(60);
  if (withBytes) tokens.push(...(rng.chance(85) ? bytes : bytes.slice(0, 100 + rng.below(150))));
  tokens.push(...characters);
  if (rng.chance(50)) {
    const merges = makeMerges(rng, tokens, characters, rng.below(80));
    return Object.assign({}, model, {
      vocab: withIds(tokens), merges, unk_token: rng.chance(80) ? '<unk>' : null, fuse_unk: rng.chance(50),
      byte_fallback: withBytes && rng.chance(80), ignore_merges: rng.chance(30),
    });
  }
  makeMerges(rng, tokens, characters, rng.below(80));
  const vocab = tokens.map((token) => [token, rng.chance(20) ? -rng.below(4) : -rng.below(1500) / 100]);
  return {
    type: 'Unigram', unk_id: rng.chance(90) ? 0 : null, vocab, byte_fallback: withBytes && rng.chance(80),
  };
}

const metaspace = (rng) => Object.assign(
    {type: 'Metaspace', replacement: rng.chance(90) ? '▁' : '_'},
    rng.chance(80) ? {prepend_scheme: rng.pick(['always', 'first', 'never'])} : {},
    rng.chance(70) ? {split: rng.chance(60)} : {}, rng.chance(10) ? {add_prefix_space: rng.chance(50)} : {});

function makePieceSteps(rng) {
  const step = () => rng.pick([
    () => metaspace(rng), () => metaspace(rng), () => ({type: 'Digits', individual_digits: rng.chance(50)}),
    () => ({type: 'Punctuation', behavior: rng.pick(behaviors)}),
    () => ({type: 'Split', pattern: {String: ' '}, behavior: rng.pick(behaviors), invert: false}),
    () => ({type: 'Split', pattern: {Regex: rng.pick(['\\p{N}', '\\s+', '[.-]'])}, behavior: rng.pick(behaviors), invert: rng.chance(20)}),
  ])();
  const count = rng.pick([0, 1, 1, 1, 2, 3]);
  if (count === 0) return null;
  return count === 1 ? step() : {type: 'Sequence', pretokenizers: Array.from({length: count}, step)};
}

function makeNormalizer(rng) {
  const step = () => rng.pick([
    () => ({type: rng.pick(['NFC', 'NFD', 'NFKC', 'NFKD'])}),
    () => ({type: 'Prepend', prepend: rng.pick(['▁', '▁', 'x'])}),
    () => ({type: 'Replace', pattern: {String: rng.pick([' ', ' ', 'a', '  ', 'th'])}, content: rng.pick(['▁', '▁', '', 'ab'])}),
    () => ({type: 'Replace', pattern: {Regex: rng.pick([' {2,}', '\\s+', '^\\s', 'e$', '\\p{N}'])}, content: rng.pick(['▁', ' ', '', '12'])}),
    () => ({type: 'Lowercase'}),
    () => ({type: 'Strip', strip_left: rng.chance(50), strip_right: rng.chance(50)}),
  ])();
  const count = rng.pick([0, 0, 1, 1, 2, 3]);
  if (count === 0) return null;
  return count === 1 ? step() : {type: 'Sequence', normalizers: Array.from({length: count}, step)};
}

function makeDecoder(rng) {
  const step = () => rng.pick([
    () => ({type: 'Replace', pattern: {String: rng.pick(['▁', '▁', 'th', 'aa', 'e'])}, content: rng.pick([' ', ' ', '', 'ab'])}),
    () => ({type: 'Replace', pattern: {Regex: rng.pick(['▁+', '^▁', '[aeiou]+$', '\\s'])}, content: rng.pick([' ', '_'])}),
    () => ({type: 'ByteFallback'}), () => ({type: 'ByteFallback'}), () => ({type: 'Fuse'}),
    // More than a token has at its end makes the reference panic.
    () => ({type: 'Strip', content: rng.pick([' ', ' ', 'a', '▁']), start: rng.below(3), stop: 0}),
    () => metaspace(rng),
    () => ({type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true}),
  ])();
  const count = 1 + rng.below(4);
  return count === 1 ? step() : {type: 'Sequence', decoders: Array.from({length: count}, step)};
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
  if (rng.chance(15)) pretokenizers.push({type: 'Digits', individual_digits: rng.chance(50)});
  if (rng.chance(15)) pretokenizers.push({type: 'Punctuation', behavior: rng.pick(behaviors)});
  pretokenizers.push(byteLevel);
  if (rng.chance(5)) pretokenizers.push(split());
  return pretokenizers.length === 1 ? byteLevel : {type: 'Sequence', pretokenizers};
}

function makeAdded(rng, bpe) {
  const vocab = Array.isArray(bpe.vocab) ? withIds(bpe.vocab.map((pair) => pair[0])) : bpe.vocab;
  let next = Object.keys(vocab).length;
  const contents = ['<s>', '</s>', '<|end|>', '<|end|>x', '  ', '\n\n', 'the', 'é', 'e\u0301', '<mask>', 'né', '\u1100\u1161', '_x', 'x_'];
  const flag = () => rng.chance(25);
  return contents.filter(() => rng.chance(40)).map((content) => ({
    id: content in vocab ? vocab[content] : next++, content, single_word: flag(),
    // White space that rstrip took and lstrip wants makes the reference panic.
    lstrip: content.trim() !== '' && flag(), rstrip: flag(),
    // A token that the normaliser leaves nothing of makes the reference panic, too.
    normalized: content.trim() !== '' && rng.chance(40), special: rng.chance(50),
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
    const ofBytes = index % 2 === 0;
    const bpe = ofBytes ? makeByteModel(rng) : makePieceModel(rng);
    const added = makeAdded(rng, bpe);
    const byteLevel = {type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true};
    const text = JSON.stringify(description({
      added_tokens: added, model: bpe, pre_tokenizer: ofBytes ? makeSteps(rng) : makePieceSteps(rng),
      normalizer: ofBytes && rng.chance(60) ?
          rng.pick([null, {type: 'NFC'}, {type: 'Sequence', normalizers: [{type: 'NFC'}]}, {type: 'Sequence', normalizers: []}]) :
          makeNormalizer(rng),
      post_processor: makePostProcessor(rng, added), decoder: ofBytes && rng.chance(70) ? byteLevel : makeDecoder(rng),
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
      try {
        await tokenizer.encode(each, null, {addSpecialTokens: false});
      } catch (error) {
        cases.push({text: each, error: String(error)});
        continue;
      }
      const ids = (await tokenizer.encode(each, null, {addSpecialTokens: false})).getIds();
      const withSpecial = (await tokenizer.encode(each, null, {addSpecialTokens: true})).getIds();
      // Half of the decoded ids are drawn, so that tokens stand anywhere.
      const drawn = rng.chance(50) ? ids : Array.from({length: rng.below(12)}, () => rng.below(tokenizer.getVocabSize(true) + 3));
      cases.push({
        text: each, ids, withSpecial, drawn, decoded: await tokenizer.decode(drawn, false),
        skipped: await tokenizer.decode(drawn, true),
      });
    }
    print({description: text, cases});
  }
  flush();
}
main();
