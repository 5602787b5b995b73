// Checks committed dashboards: `node main.js ROOT` or, with planted faults, `node main.js ROOT --self-test`.
import { join } from 'node:path';
import { boards as sources } from '../source/boards.js';
import { build } from '../source/board.js';
import { readCatalogue, readExported, readList } from './catalogue.js';
import { missingPanels, notExported, undocumented, unknownNames } from './coverage.js';
import { lint } from './lint.js';
import { type Board, chartsOf, readBoards, selectorsOf, usesOf } from './model.js';
import { metricNames } from './promql.js';
import { selfTest } from './self_test.js';
import { wrongNames, wrongUnits } from './units.js';

export interface Checked {
  boards: Board[];
  root: string;
}

function outdated(boards: Board[]): string[] {
  const generated = sources.map((source) => JSON.parse(JSON.stringify(build(source))) as Board);
  const text = (board: Board | undefined) => JSON.stringify(board);
  const stale = generated.filter((board) => text(board) !== text(boards.find((other) => other.uid === board.uid)));
  const extra = boards.filter((board) => !generated.some((other) => other.uid === board.uid));
  return [
    ...stale.map((board) => `${board.uid}.json is not what its source makes: run \`npm ci && npm run generate\` in dashboards/grafana`),
    ...extra.map((board) => `${board.uid}.json has no source`),
  ];
}

export function faultsOf({ boards, root }: Checked): string[] {
  const known = readCatalogue(root);
  const exported = readExported(root);
  const lists = join(root, 'tests/dashboards');
  const uses = boards.flatMap(usesOf);
  return [
    ...lint(boards, known),
    ...unknownNames([...uses, ...boards.flatMap(selectorsOf)], known),
    ...missingPanels(uses, known, readList(join(lists, 'not_shown.txt'))),
    ...undocumented(exported, known),
    ...notExported(exported, known, readList(join(lists, 'awaited.txt'))),
    ...wrongUnits(uses, known),
    ...wrongNames(known),
  ];
}

function report(checked: Checked, faults: string[]): void {
  const { boards, root } = checked;
  const uses = boards.flatMap(usesOf);
  const names = new Set(uses.flatMap((use) => metricNames(use.expr)));
  const exported = readExported(root);
  const awaited = [...readList(join(root, 'tests/dashboards/awaited.txt')).keys()];
  faults.forEach((fault) => console.log(fault));
  console.log(`${boards.length} dashboards, ${boards.flatMap(chartsOf).length} panels, ${uses.length} expressions`);
  console.log(`${names.size} names of series on them, ${readCatalogue(root).size} documented, ${exported.size} exported`);
  console.log(`${uses.filter((use) => use.unit !== undefined).length} units compared`);
  const arrived = awaited.filter((name) => exported.has(name));
  if (arrived.length) console.log(`delete from tests/dashboards/awaited.txt, they are exported: ${arrived.join(' ')}`);
  console.log(`${faults.length} faults`);
}

function main(): number {
  const root = process.argv[2];
  if (root === undefined) throw new Error('usage: main.js ROOT [--self-test]');
  const checked = { root, boards: readBoards(join(root, 'dashboards/grafana')) };
  if (process.argv.includes('--self-test')) return selfTest(checked, faultsOf);
  const faults = [...outdated(checked.boards), ...faultsOf(checked)];
  report(checked, faults);
  return faults.length > 0 || checked.boards.length === 0 ? 1 : 0;
}

process.exitCode = main();
