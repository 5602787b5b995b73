// The queue, what runs cost, and how much of the time counts.
import { ALERTS, RESTARTS, RUN, type Board, type Section } from '../board.js';
import { bars, buckets, graph, number, rows, stacked } from '../panels.js';
import { RUNS, TO_RUN, TO_RUN_OF_SERIES, goodput, named } from '../queries.js';

const COST_RATE = `sum by (currency) (deriv(ringmaster_run_cost{${RUNS}}[$__rate_interval])) * 3600`;

const glance: Section = {
  title: 'At a glance',
  panels: [
    number({
      title: 'Waiting jobs',
      description: 'Jobs without devices.',
      unit: 'short',
      width: 4,
      queries: [{ expr: 'sum(ringmaster_jobs{state="pending"})' }],
    }),
    number({
      title: 'Longest wait',
      description: 'The oldest wait among jobs that wait now. `ringmaster explain ID` says for which devices.',
      unit: 's',
      width: 4,
      queries: [{ expr: 'max(ringmaster_job_pending_seconds) or vector(0)' }],
      levels: [{ color: 'green' }, { color: 'orange', at: 1800 }, { color: 'red', at: 14400 }],
    }),
    number({
      title: 'Failed jobs, all',
      description: 'Jobs that have ended as failed. `ringmaster history --state failed` lists them.',
      unit: 'short',
      width: 4,
      queries: [{ expr: 'sum(ringmaster_jobs{state="failed"})' }],
    }),
    number({
      title: 'Goodput, last day',
      description: 'The share of the time of the chosen runs that went into steps that count.',
      unit: 'percentunit',
      decimals: 1,
      width: 4,
      queries: [{ expr: goodput(RUNS, '1d', '') }],
      levels: [{ color: 'red' }, { color: 'orange', at: 0.8 }, { color: 'green', at: 0.95 }],
    }),
    number({
      title: 'Spending per hour',
      description: 'By the chosen runs.',
      unit: 'suffix:/h',
      decimals: 2,
      width: 4,
      queries: [{ expr: COST_RATE, legend: '{{currency}}' }],
    }),
    number({
      title: 'Idle devices',
      description: 'Free devices cost money, too.',
      unit: 'short',
      width: 4,
      queries: [{ expr: 'sum(ringmaster_devices{state="free"})' }],
      levels: [{ color: 'green' }, { color: 'orange', at: 1 }],
    }),
  ],
};

const queue: Section = {
  title: 'Queue',
  panels: [
    bars({
      title: 'Waiting jobs by time',
      description: 'How long each has waited.',
      unit: 's',
      queries: [{ expr: 'sort_desc(max by (run) (ringmaster_job_pending_seconds))', legend: '{{run}}' }],
      levels: [{ color: 'green' }, { color: 'orange', at: 1800 }, { color: 'red', at: 14400 }],
    }),
    graph({
      title: 'Time in the queue',
      description: 'From submission, or the end of the last attempt, to devices: half of the jobs wait less, 95 of 100 wait less.',
      unit: 's',
      width: 8,
      queries: [
        { expr: 'histogram_quantile(0.5, sum by (le) (rate(ringmaster_job_queue_wait_seconds_bucket[$__rate_interval])))', legend: 'half' },
        { expr: 'histogram_quantile(0.95, sum by (le) (rate(ringmaster_job_queue_wait_seconds_bucket[$__rate_interval])))', legend: '95 of 100' },
      ],
    }),
    buckets({
      title: 'Times in the queue',
      description: 'How many jobs waited how long.',
      unit: 's',
      width: 8,
      queries: [{ expr: 'sum by (le) (increase(ringmaster_job_queue_wait_seconds_bucket[$__rate_interval]))' }],
    }),
    stacked({
      title: 'Changes of state',
      description: 'Transitions of jobs. Many from running to pending: attempts fail and are tried again.',
      unit: 'short',
      queries: [{ expr: 'sum by (from, to) (increase(ringmaster_job_transitions_total[$__rate_interval]))', legend: '{{from}} to {{to}}' }],
    }),
    graph({
      title: 'Jobs by state',
      description: 'Ended ones, too.',
      unit: 'short',
      queries: [{ expr: 'sum by (state) (ringmaster_jobs)', legend: '{{state}}' }],
    }),
  ],
};

const time: Section = {
  title: 'Goodput',
  panels: [
    graph({
      title: 'Goodput of each run, over an hour',
      description: 'The share of its time that went into steps that count, by the recording rule of dashboards/prometheus.',
      unit: 'percentunit',
      max: 1,
      queries: [{ expr: `max by (run) (run:ringmaster_train_goodput:ratio_rate1h{${RUNS}})`, legend: '{{run}}' }],
      links: [TO_RUN_OF_SERIES],
    }),
    stacked({
      title: 'Lost time by cause',
      description: 'Runs that lose their time to a cause: 1 is one run that does nothing else.',
      unit: 'short',
      queries: [{ expr: `sum by (cause) (rate(ringmaster_train_badput_seconds_total{${RUNS}}[$__rate_interval]))`, legend: '{{cause}}' }],
    }),
  ],
};

const money: Section = {
  title: 'Cost and energy',
  panels: [
    rows({
      title: 'Runs',
      description: "Cost and energy of all attempts, by the controller's price list and the GPUs' meters.",
      labels: { run: 'Run', currency: 'Currency' },
      columns: [
        { title: 'Cost', expr: `max by (run, currency) (ringmaster_run_cost{${RUNS}})`, unit: 'short', decimals: 2 },
        { title: 'Energy', expr: `max by (run) (ringmaster_run_energy_joules{${RUNS}})`, unit: 'joule', decimals: 1 },
        { title: 'Tokens', expr: `max by (run) (ringmaster_train_tokens_total{${RUNS}})`, unit: 'short', decimals: 1 },
        {
          title: 'Cost of a million tokens',
          expr: `max by (run) (ringmaster_run_cost{${RUNS}}) / (max by (run) (ringmaster_train_tokens_total{${RUNS}}) / 1e6)`,
          unit: 'short',
          decimals: 4,
        },
        {
          title: 'Energy of a token',
          expr: `max by (run) (ringmaster_run_energy_joules{${RUNS}}) / max by (run) (ringmaster_train_tokens_total{${RUNS}})`,
          unit: 'joule',
          decimals: 3,
        },
      ],
      links: { Run: TO_RUN },
      sortBy: 'Cost',
    }),
    graph({
      title: 'Spending per hour',
      description: 'By the chosen runs.',
      unit: 'suffix:/h',
      width: 8,
      queries: [
        { expr: COST_RATE, legend: 'runs, {{currency}}' },
      ],
    }),
    graph({
      title: 'Price of each node per hour',
      description: "All devices of the node, by the controller's price list.",
      unit: 'short',
      decimals: 2,
      width: 8,
      queries: [{ expr: named('max by (node, currency) (ringmaster_node_price_per_hour)'), legend: '{{hostname}}, {{currency}}' }],
    }),
    graph({
      title: 'Power of runs',
      description: "By the meters of their ranks' GPUs.",
      unit: 'watt',
      width: 8,
      queries: [{ expr: `sum by (run) (rate(ringmaster_rank_energy_joules_total{${RUNS}}[$__rate_interval]))`, legend: '{{run}}' }],
      links: [TO_RUN_OF_SERIES],
    }),
    graph({
      title: 'Plans: measured over planned, less 1',
      description: 'Plans are right near zero. Above it, runs take longer or more memory than planned.',
      unit: 'percentunit',
      width: 24,
      queries: [{ expr: `max by (run, quantity) (ringmaster_plan_error_ratio{${RUNS}})`, legend: '{{run}} {{quantity}}' }],
      links: [TO_RUN_OF_SERIES],
    }),
  ],
};

export const jobs: Board = {
  uid: 'ringmaster-jobs',
  title: 'Jobs, cost and goodput',
  description: 'The queue, the time that counts, and what runs cost.',
  variables: [RUN],
  annotations: [ALERTS, RESTARTS],
  sections: [glance, queue, time, money],
};
