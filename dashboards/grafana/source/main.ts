// Writes every dashboard as <uid>.json into a folder: `node out/source/main.js FOLDER`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { boards } from './boards.js';
import { build } from './board.js';

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: main.js FOLDER');
for (const board of boards) {
  writeFileSync(join(folder, `${board.uid}.json`), `${JSON.stringify(build(board), null, 2)}\n`);
}
