// node encode.js TOKENIZER COUNT SEED: generated strings with their ids and their decoded text, and
// random ids with their decoded text, one JSON object a line.
'use strict';
const fs = require('fs');
const {Tokenizer, tokenizerFile, random, print, flush} = require('./reference.js');
const {makeStrings} = require('./strings.js');

async function main() {
  const [name, count, seed] = process.argv.slice(2);
  const file = tokenizerFile(name);
  const tokenizer = Tokenizer.fromFile(file);
  const added = JSON.parse(fs.readFileSync(file, 'utf8')).added_tokens.map((token) => token.content);
  const rng = random(Number(seed));
  const next = makeStrings(rng, added);
  const size = tokenizer.getVocabSize(true);
  const batch = 256;
  for (let begin = 0; begin < Number(count); begin += batch) {
    const texts = [];
    for (let index = begin; index < Math.min(begin + batch, Number(count)); ++index)
      texts.push(next(index));
    const encoded = await tokenizer.encodeBatch(texts, {addSpecialTokens: false});
    const ids = encoded.map((each) => each.getIds());
    // A tenth of the decoded ids are drawn, so that characters are cut and joined anywhere.
    const drawn = ids.map((each, index) => index % 10 !== 0 ? each : Array.from(
        {length: 1 + rng.below(12)}, () => rng.chance(95) ? rng.below(size) : size + rng.below(999)));
    const decoded = await tokenizer.decodeBatch(drawn, false);
    const skipped = await tokenizer.decodeBatch(drawn, true);
    texts.forEach((text, index) => print({
      text, ids: ids[index], drawn: drawn[index], decoded: decoded[index], skipped: skipped[index],
    }));
  }
  flush();
}
main();
