// node compare.mjs DIR: encodes DIR/texts.json with DIR/tokenizer.json by @huggingface/tokenizers and compares
// the ids with DIR/ids.json. Prints the first differences; exit code 1 when there is one.
import fs from 'fs';
import {Tokenizer} from '@huggingface/tokenizers';

const read = (name) => JSON.parse(fs.readFileSync(`${process.argv[2]}/${name}`, 'utf8'));
const tokenizer = new Tokenizer(read('tokenizer.json'), {});
const texts = read('texts.json');
const ours = read('ids.json');
if (texts.length !== ours.length) throw new Error(`${texts.length} texts, ${ours.length} lists of ids`);

let bytes = 0;
let different = 0;
const start = process.hrtime.bigint();
texts.forEach((text, n) => {
  bytes += Buffer.byteLength(text);
  const theirs = tokenizer.encode(text, {add_special_tokens: true}).ids;
  const at = theirs.findIndex((id, i) => id !== ours[n][i]);
  if (at < 0 && theirs.length === ours[n].length) return;
  if (++different > 5) return;
  const from = Math.max(0, at - 3);
  const before = tokenizer.decode(theirs.slice(0, from), {skip_special_tokens: false});
  const here = JSON.stringify(text.slice(before.length, before.length + 60));
  console.log(`text ${n}, token ${at}: theirs ${theirs.slice(from, from + 8)} ours ${ours[n].slice(from, from + 8)} near ${here}`);
});
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
console.log(`${texts.length} texts, ${bytes} bytes, ${different} different; theirs ${(bytes / seconds / 1e6).toFixed(1)} MB/s`);
process.exit(different === 0 && texts.length > 0 ? 0 : 1);
