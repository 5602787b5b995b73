// Writes each dashboard as TypeScript that compiles only if it is a Dashboard of Grafana's schema:
// `node type_check.js ROOT FOLDER`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBoards } from './model.js';

// JSON has an enum's values, not its names. The schema leaves out fields that Grafana reads: those of a query's data source,
// of a variable's kind, and of Prometheus' annotations.
const HEAD = `import type { Dashboard } from '@grafana/schema';
type More<T> = T extends { refId: string }
  ? Record<string, unknown>
  : T extends { skipUrlSync?: boolean }
    ? { auto?: boolean; auto_min?: string; auto_count?: number; definition?: string }
    : T extends { iconColor: string }
      ? { expr?: string; step?: string; titleFormat?: string; textFormat?: string }
      : unknown;
type Plain<T> = T extends string ? \`\${T}\` : T extends object ? { [Key in keyof T]: Plain<T[Key]> } & More<T> : T;
`;

const [root, folder] = process.argv.slice(2);
if (root === undefined || folder === undefined) throw new Error('usage: type_check.js ROOT FOLDER');
mkdirSync(folder, { recursive: true });
for (const board of readBoards(join(root, 'dashboards/grafana'))) {
  const text = `${HEAD}export const board: Plain<Dashboard> = ${JSON.stringify(board, null, 2)};\n`;
  writeFileSync(join(folder, `${board.uid}.ts`), text);
}
const WRONG = [
  'title: 3',
  "graphTooltip: 'crosshair'",
  "tag: ['ringmaster']",
  "templating: { list: [{ type: 'query', name: 'run', refresch: 2 }] }",
  "panels: [{ type: 'stat', gridPos: { x: 0, y: 0, w: 'wide', h: 4 } }]",
];
const planted = WRONG.map(
  (line, index) => `// @ts-expect-error planted\nexport const board${index}: Plain<Dashboard> = { schemaVersion: 42, ${line} };\n`,
);
writeFileSync(join(folder, 'wrong.ts'), HEAD + planted.join(''));
console.log(`${WRONG.length} planted faults must not compile`);
