// Parts of expressions that several panels share.
import type { Link } from './panels.js';

// A node's last known name, also while the controller is down; its value is 1.
const NAMES = 'max by (node, hostname) (last_over_time(ringmaster_node_up[1h]) >= bool 0)';

// The series with the node's name as the label `hostname`.
export function named(expr: string): string {
  return `(${expr}) * on (node) group_left (hostname) ${NAMES}`;
}

function namesAs(label: string): string {
  return `label_replace(label_replace(${NAMES}, "${label}", "$1", "node", "(.*)"), "${label}_name", "$1", "hostname", "(.*)")`;
}

// The series of links with the names of both ends as `src_name` and `dst_name`.
export function linkNamed(expr: string): string {
  return (
    `(${expr}) * on (src) group_left (src_name) max by (src, src_name) (${namesAs('src')})` +
    ` * on (dst) group_left (dst_name) max by (dst, dst_name) (${namesAs('dst')})`
  );
}

export const RUNS = 'run=~"$run"';
export const NODES = 'node=~"$node"';
export const RANKS = 'run=~"$run", node=~"$node", gpu=~"$gpu"';
export const GPUS = 'node=~"$node", gpu=~"$gpu"';

export const RANK_LEGEND = '{{hostname}} GPU {{gpu}}, rank {{rank}}';
export const GPU_LEGEND = '{{hostname}} GPU {{gpu}}';
export const LINK_LEGEND = '{{src_name}} to {{dst_name}}';

// Seconds in steps, per second, of each run, where a step ended. Counters of runs and ranks grow when a step ends; over
// this, their rates are right for steps of any length, and absent where none ended.
export function stepTime(runs: string): string {
  return `(sum by (run) (rate(ringmaster_train_step_duration_seconds_sum{${runs}}[$__rate_interval])) > 0)`;
}

// The rate of a counter of ranks while steps run, by run and other labels.
export function whileStepping(counter: string, labels: string): string {
  return `sum by (run${labels}) (rate(${counter}[$__rate_interval])) / on (run) group_left () ${stepTime('')}`;
}

export function tokensPerSecond(runs: string): string {
  return whileStepping(`ringmaster_train_tokens_total{${runs}}`, '');
}

// A rank's work over the median of its run.
export function workOverMedian(ranks: string): string {
  return (
    `max by (run, node, gpu, rank) (ringmaster_rank_work_seconds{${ranks}})` +
    ` / on (run) group_left quantile by (run) (0.5, ringmaster_rank_work_seconds{${RUNS}})`
  );
}

// The share of useful time over a window.
export function goodput(runs: string, window: string, by: string): string {
  const good = `sum${by} (rate(ringmaster_train_goodput_seconds_total{${runs}}[${window}]))`;
  return `${good} / (${good} + sum${by} (rate(ringmaster_train_badput_seconds_total{${runs}}[${window}])))`;
}

const KEEP = '${__url_time_range}&${datasource:queryparam}&${page:queryparam}';

export const TO_RUN: Link = { title: 'This run', url: `/d/ringmaster-run?var-run=\${__data.fields.Run}&${KEEP}` };
export const TO_RUN_OF_SERIES: Link = { title: 'This run', url: `/d/ringmaster-run?var-run=\${__field.labels.run}&${KEEP}` };
export const TO_NODE: Link = { title: "This node's GPUs", url: `/d/ringmaster-gpu?var-node=\${__data.fields.Id}&${KEEP}` };
export const TO_NODE_OF_SERIES: Link = { title: "This node's GPUs", url: `/d/ringmaster-gpu?var-node=\${__field.labels.node}&${KEEP}` };
export const TO_NETWORK: Link = { title: 'Ring and network', url: `/d/ringmaster-ring?\${run:queryparam}&${KEEP}` };
const ON_PAGE = "This run on Ringmaster's page, with its logs";
export const TO_PAGE: Link = { title: ON_PAGE, url: '${page}/runs/${__data.fields.Run}' };
export const TO_PAGE_OF_SERIES: Link = { title: ON_PAGE, url: '${page}/runs/${__field.labels.run}' };
