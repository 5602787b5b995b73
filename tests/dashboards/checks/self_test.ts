// Plants one fault of each kind and expects its message.
import type { Checked } from './main.js';
import { type Board, type Panel, chartsOf } from './model.js';

interface Planted {
  name: string;
  plant: (boards: Board[]) => void;
  message: RegExp;
}

function panel(boards: Board[], title: string): Panel {
  const found = boards.flatMap(chartsOf).find((chart) => chart.title === title);
  if (!found) throw new Error(`no panel ${title}`);
  return found;
}

function inExpr(title: string, from: string, to: string): (boards: Board[]) => void {
  return (boards) => {
    const query = panel(boards, title).targets![0]!;
    if (!query.expr.includes(from)) throw new Error(`${title} does not contain ${from}`);
    query.expr = query.expr.replaceAll(from, to);
  };
}

function inUnit(title: string, unit: string): (boards: Board[]) => void {
  return (boards) => {
    panel(boards, title).fieldConfig!.defaults!.unit = unit;
  };
}

const PLANTED: Planted[] = [
  { name: 'a typo in a name', plant: inExpr('Loss', 'train_loss', 'train_los'), message: /no series ringmaster_train_los$/ },
  { name: 'a wrong unit', plant: inUnit('Host to device', 'bytes'), message: /Host to device.*shows bytes; the expression has byte second\^-1/ },
  { name: 'seconds as a ratio', plant: inUnit('Median step', 'percentunit'), message: /Median step.*shows percentunit; the expression has second/ },
  { name: 'bytes minus seconds', plant: inExpr('Free memory of GPUs', 'ringmaster_gpu_memory_used_bytes', 'ringmaster_rank_step_seconds'), message: /units do not agree/ },
  {
    name: 'a missing panel',
    plant: (boards) => {
      for (const board of boards) board.panels = board.panels.filter((chart) => chart.title !== 'Norm of the gradient');
    },
    message: /ringmaster_train_grad_norm is on no panel/,
  },
  { name: 'a syntax error', plant: inExpr('Loss', '})', '}'), message: /Loss.*syntax error/ },
  { name: 'a counter as it is', plant: inExpr('FLOP per second', 'rate(', '('), message: /the counter ringmaster_train_flops_total without rate/ },
  { name: 'the rate of a gauge', plant: inExpr('Loss', 'ringmaster_train_loss{run=~"$run"}', 'rate(ringmaster_train_loss[$__rate_interval])'), message: /rate of the gauge/ },
  { name: 'a fixed window', plant: inExpr('FLOP per second', '$__rate_interval', '5m'), message: /its window is not \$__rate_interval/ },
  { name: 'a fixed data source', plant: (boards) => void (panel(boards, 'Loss').datasource = { uid: 'prom-1' }), message: /Loss: has a fixed data source/ },
  { name: 'no description', plant: (boards) => void delete panel(boards, 'Loss').description, message: /Loss: has no description/ },
  { name: 'an overlap', plant: (boards) => void (panel(boards, 'Loss').gridPos.x += 6), message: /Loss overlaps/ },
  { name: 'an editable dashboard', plant: (boards) => void (boards[0]!.editable = true), message: /is editable/ },
  { name: 'a stale variable', plant: (boards) => void (boards.flatMap((board) => board.templating.list).find((entry) => entry.name === 'run')!.refresh = 0), message: /not refreshed on time change/ },
];

export function selfTest(checked: Checked, faultsOf: (checked: Checked) => string[]): number {
  const missed = PLANTED.filter(({ plant, message }) => {
    const boards = structuredClone(checked.boards);
    plant(boards);
    return !faultsOf({ ...checked, boards }).some((fault) => message.test(fault));
  });
  missed.forEach(({ name }) => console.log(`not found: ${name}`));
  console.log(`${PLANTED.length} planted faults, ${missed.length} missed`);
  return missed.length ? 1 : 0;
}
