// Dashboards as data: the parts of their JSON that checks look at.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Query {
  refId: string;
  expr: string;
  instant?: boolean;
  datasource?: { uid?: string };
}

export interface Override {
  matcher: { id: string; options: string };
  properties: { id: string; value?: unknown }[];
}

export interface Panel {
  id: number;
  type: string;
  title?: string;
  description?: string;
  datasource?: { uid?: string };
  targets?: Query[];
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig?: { defaults?: { unit?: string }; overrides?: Override[] };
  transformations?: { id: string; options: { renameByName?: Record<string, string> } }[];
}

export interface Variable {
  name: string;
  type: string;
  refresh?: number;
  query?: string | { query: string };
  datasource?: { uid?: string };
}

export interface Board {
  uid: string;
  title: string;
  tags: string[];
  editable: boolean;
  schemaVersion: number;
  panels: Panel[];
  templating: { list: Variable[] };
  annotations: { list: { name: string; expr?: string }[] };
}

// An expression and its place. `unit`: as a panel shows it; absent for annotations.
export interface Use {
  where: string;
  expr: string;
  unit?: string;
  instant: boolean;
}

export function readBoards(folder: string): Board[] {
  const files = readdirSync(folder).filter((name) => name.startsWith('ringmaster-') && name.endsWith('.json'));
  return files.sort().map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Board);
}

export function chartsOf(board: Board): Panel[] {
  return board.panels.filter((panel) => panel.type !== 'row');
}

function unitOf(panel: Panel, query: Query): string | undefined {
  const renames = panel.transformations?.find((step) => step.id === 'organize')?.options.renameByName ?? {};
  const column = renames[`Value #${query.refId}`] ?? renames['Value'];
  const override = panel.fieldConfig?.overrides?.find((entry) => entry.matcher.options === column);
  const own = override?.properties.find((property) => property.id === 'unit')?.value;
  return (own as string | undefined) ?? panel.fieldConfig?.defaults?.unit;
}

export function usesOf(board: Board): Use[] {
  const panels = chartsOf(board).flatMap((panel) =>
    (panel.targets ?? []).map((query) => ({
      where: `${board.title} / ${panel.title} / ${query.refId}`,
      expr: query.expr,
      unit: unitOf(panel, query) ?? '',
      instant: query.instant ?? false,
    })),
  );
  const annotations = board.annotations.list
    .filter((entry) => entry.expr !== undefined)
    .map((entry) => ({ where: `${board.title} / annotation ${entry.name}`, expr: entry.expr!, instant: false }));
  return [...panels, ...annotations];
}

function variableQuery(variable: Variable): string {
  return typeof variable.query === 'string' ? variable.query : (variable.query?.query ?? '');
}

// The selectors within label_values(...) and query_result(...).
export function selectorsOf(board: Board): Use[] {
  return board.templating.list
    .filter((variable) => variable.type === 'query')
    .map((variable) => ({ where: `${board.title} / variable ${variable.name}`, expr: variableQuery(variable), instant: true }))
    .map((use) => ({ ...use, expr: use.expr.replace(/^label_values\((.*), \w+\)$|^query_result\((.*)\)$/, '$1$2') }));
}
