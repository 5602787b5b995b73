// Series that exist: docs/metrics.md describes them, the sources export them.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Series {
  name: string;
  type: string;
  unit: string;
}

const ROW = /^\| `(ringmaster_\w+)` \| (\w+) \| (\w+) \|/;
const EXPORTED = /"(ringmaster_[a-z0-9_]+)"/g;
const EXPORTS = /_family\(/;
const PARTS = ['controller', 'service', 'worker'];

export function readCatalogue(root: string): Map<string, Series> {
  const lines = readFileSync(join(root, 'docs/metrics.md'), 'utf8').split('\n');
  const rows = lines.map((line) => ROW.exec(line)).filter((match) => match !== null);
  return new Map(rows.map((match) => [match[1]!, { name: match[1]!, type: match[2]!, unit: match[3]! }]));
}

export function exportedBy(source: string): string[] {
  return EXPORTS.test(source) ? [...source.matchAll(EXPORTED)].map((match) => match[1]!) : [];
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(h|cc)$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

export function readExported(root: string): Set<string> {
  const sources = PARTS.flatMap((part) => sourcesIn(join(root, part)));
  return new Set(sources.flatMap(exportedBy));
}

// Series of Prometheus itself, and those that recording rules make.
export function isForeign(name: string): boolean {
  return name === 'up' || name === 'ALERTS' || name.includes(':');
}

// A histogram has three series.
export function family(name: string, known: Map<string, Series>): Series | undefined {
  const base = name.replace(/_(bucket|sum|count)$/, '');
  return known.get(name) ?? (known.get(base)?.type === 'histogram' ? known.get(base) : undefined);
}

// `name  # reason` per line.
export function readList(path: string): Map<string, string> {
  const lines = readFileSync(path, 'utf8').split('\n').filter((line) => line.trim() && !line.startsWith('#'));
  return new Map(lines.map((line) => line.split(/\s+# /, 2) as [string, string]));
}
