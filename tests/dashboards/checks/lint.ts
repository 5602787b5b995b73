// The rules of Grafana's dashboard-linter that apply here, and conventions of these dashboards.
// Its rules about `job` and `instance` do not: runs, nodes and GPUs move between targets.
import type { SyntaxNode } from '@lezer/common';
import { type Series, family } from './catalogue.js';
import { type Board, type Panel, type Use, chartsOf, selectorsOf, usesOf } from './model.js';
import { calls, metricNames, nodes, parse, syntaxError, textOf } from './promql.js';

const ON_TIME_CHANGE = 2;
const OF_COUNTERS = new Set(['rate', 'irate', 'increase']);
// Totals that a reader wants as they are.
const WHOLE_COUNTERS = new Set(['ringmaster_gpu_xid_errors_total', 'ringmaster_job_transitions_total', 'ringmaster_train_tokens_total']);

function boardFaults(board: Board): string[] {
  const faults = [];
  if (!/^ringmaster-[a-z]+$/.test(board.uid)) faults.push(`uid ${board.uid} is not ringmaster-<word>`);
  if (board.schemaVersion !== 42) faults.push(`schemaVersion is ${board.schemaVersion}, not 42`);
  if (!board.tags.includes('ringmaster')) faults.push('lacks the tag ringmaster');
  if (board.editable) faults.push('is editable: changes in the browser would be lost');
  if (!board.templating.list.some((variable) => variable.name === 'datasource')) faults.push('lacks the variable datasource');
  return faults;
}

function variableFaults(board: Board): string[] {
  const queries = board.templating.list.filter((variable) => variable.type === 'query');
  return queries.flatMap((variable) => {
    const faults = [];
    if (variable.refresh !== ON_TIME_CHANGE) faults.push(`variable ${variable.name} is not refreshed on time change`);
    if (variable.datasource?.uid !== '${datasource}') faults.push(`variable ${variable.name} has a fixed data source`);
    return faults;
  });
}

function panelFaults(panel: Panel): string[] {
  const faults = [];
  if (!panel.title) faults.push('has no title');
  if (!panel.description) faults.push('has no description');
  if (panel.datasource?.uid !== '${datasource}') faults.push('has a fixed data source');
  if (!panel.targets?.length) faults.push('has no query');
  if (panel.gridPos.x + panel.gridPos.w > 24) faults.push('is wider than the page');
  return faults.map((fault) => `${panel.title}: ${fault}`);
}

function overlaps(board: Board): string[] {
  const charts = chartsOf(board);
  const apart = (a: Panel['gridPos'], b: Panel['gridPos']) =>
    a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
  return charts.flatMap((panel, index) =>
    charts.slice(index + 1).flatMap((other) => (apart(panel.gridPos, other.gridPos) ? [] : [`${panel.title} overlaps ${other.title}`])),
  );
}

function isWithinCounterFunction(text: (node: SyntaxNode) => string, node: SyntaxNode): boolean {
  for (let outer = node.parent; outer; outer = outer.parent) {
    if (outer.name === 'FunctionCall' && OF_COUNTERS.has(text(outer.firstChild!))) return true;
  }
  return false;
}

// A counter stands within rate or increase; a gauge never does.
function counterFaults(use: Use, known: Map<string, Series>): string[] {
  const parsed = parse(use.expr);
  return nodes(parsed, 'VectorSelector').flatMap((node) => {
    const name = textOf(parsed, node).split('{')[0]!;
    const series = family(name, known);
    if (!series || WHOLE_COUNTERS.has(name)) return [];
    const rated = isWithinCounterFunction((inner) => textOf(parsed, inner), node);
    if (rated === (series.type !== 'gauge')) return [];
    return [rated ? `rate of the gauge ${name}` : `the counter ${name} without rate or increase`];
  });
}

// A graph's windows follow its scale; a single number may state its own.
function windowFaults(use: Use, isGraph: boolean): string[] {
  const functions = calls(parse(use.expr)).filter((call) => OF_COUNTERS.has(call.name));
  if (functions.length === 0 || !isGraph) return [];
  return use.expr.includes('$__rate_interval') ? [] : ['its window is not $__rate_interval'];
}

function useFaults(use: Use, known: Map<string, Series>): string[] {
  const wrong = syntaxError(use.expr);
  if (wrong) return [wrong];
  return counterFaults(use, known);
}

function lintBoard(board: Board, known: Map<string, Series>): string[] {
  const graphs = chartsOf(board).filter((panel) => ['timeseries', 'heatmap'].includes(panel.type)).map((panel) => panel.title);
  const uses = usesOf(board).flatMap((use) => {
    const isGraph = graphs.includes(use.where.split(' / ').at(-2));
    return [...useFaults(use, known), ...windowFaults(use, isGraph)].map((fault) => `${use.where}: ${fault}`);
  });
  const selectors = selectorsOf(board).filter((use) => syntaxError(use.expr) || metricNames(use.expr).length !== 1);
  const own = [...boardFaults(board), ...variableFaults(board), ...chartsOf(board).flatMap(panelFaults), ...overlaps(board)];
  return [...own.map((fault) => `${board.title}: ${fault}`), ...uses, ...selectors.map((use) => `${use.where}: not one selector`)];
}

export function lint(boards: Board[], known: Map<string, Series>): string[] {
  return boards.flatMap((board) => lintBoard(board, known));
}
