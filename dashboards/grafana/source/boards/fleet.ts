// Is the fleet healthy? The first row answers within ten seconds.
import { ALERTS, RESTARTS, type Board, type Section } from '../board.js';
import { GOOD_WHEN_ZERO, NEUTRAL, graph, number, rows, stacked, timeline } from '../panels.js';
import { TO_NODE, TO_NODE_OF_SERIES, TO_PAGE, TO_RUN, goodput, tokensPerSecond } from '../queries.js';

const health: Section = {
  title: 'Is the fleet healthy?',
  panels: [
    number({
      title: 'Firing alerts',
      description: 'Alerts that page or warn. The table below names them; each has a page in docs/runbooks.',
      unit: 'short',
      queries: [{ expr: 'count(ALERTS{alertname=~"Ringmaster.+", alertstate="firing", severity!="info"}) or vector(0)' }],
      levels: GOOD_WHEN_ZERO,
    }),
    number({
      title: 'Nodes without a session',
      description: 'Nodes that the controller knows and that are not connected to it.',
      unit: 'short',
      queries: [{ expr: 'count(ringmaster_node_up == 0) or vector(0)' }],
      levels: GOOD_WHEN_ZERO,
    }),
    number({
      title: 'Devices out of service',
      description: 'Unreachable, unfit and drained devices.',
      unit: 'short',
      queries: [{ expr: 'sum(ringmaster_devices{state=~"unreachable|unfit|drained"})' }],
      levels: GOOD_WHEN_ZERO,
    }),
    number({
      title: 'Devices busy',
      description: 'The share of all devices that work for a job.',
      unit: 'percentunit',
      queries: [{ expr: 'sum(ringmaster_devices{state="busy"}) / sum(ringmaster_devices)' }],
      max: 1,
      min: 0,
      levels: [{ color: 'red' }, { color: 'orange', at: 0.5 }, { color: 'green', at: 0.8 }],
    }),
    number({
      title: 'Running and waiting jobs',
      description: 'Jobs that train, and jobs that wait for devices.',
      unit: 'short',
      queries: [{ expr: 'sum by (state) (ringmaster_jobs{state=~"running|pending"})', legend: '{{state}}' }],
    }),
    number({
      title: 'Goodput, last hour',
      description: 'The share of the time of all runs that went into steps that count. The rest is restarts, checkpoints and waiting.',
      unit: 'percentunit',
      queries: [{ expr: goodput('', '1h', '') }],
      max: 1,
      levels: [{ color: 'red' }, { color: 'orange', at: 0.8 }, { color: 'green', at: 0.95 }],
    }),
    number({
      title: 'Tokens per second',
      description: 'All runs together train this many.',
      unit: 'suffix: tok/s',
      queries: [{ expr: `sum(${tokensPerSecond('')})` }],
      levels: NEUTRAL,
    }),
    number({
      title: 'Price of the fleet per hour',
      description: "All devices of all nodes by the controller's price list, busy or not.",
      unit: 'short',
      decimals: 2,
      queries: [{ expr: 'sum by (currency) (ringmaster_node_price_per_hour)', legend: '{{currency}}' }],
    }),
  ],
};

const runs: Section = {
  title: 'Runs and alerts',
  panels: [
    rows({
      title: 'Runs',
      description: 'Each run that has devices, or had until two minutes ago. A click on its id opens its dashboard, on its model its page with logs.',
      labels: { run: 'Run', model: 'Model', context: 'Context', user: 'User', mesh: 'Mesh' },
      columns: [
        { title: 'Runs', expr: 'max by (run, model, context, user, mesh) (ringmaster_run_info)', unit: 'short', hidden: true },
        { title: 'Step', expr: 'max by (run) (ringmaster_train_step)', unit: 'none' },
        { title: 'Loss', expr: 'max by (run) (ringmaster_train_loss)', unit: 'none', decimals: 4 },
        { title: 'MFU', expr: 'max by (run) (ringmaster_train_mfu_ratio{convention="causal"})', unit: 'percentunit', decimals: 1 },
        { title: 'Tokens/s', expr: tokensPerSecond(''), unit: 'suffix: tok/s' },
        { title: 'Step time', expr: 'max by (run) (ringmaster_train_median_step_seconds)', unit: 's' },
        { title: 'Since last step', expr: 'time() - max by (run) (ringmaster_train_last_step_timestamp_seconds)', unit: 's', decimals: 0 },
        {
          title: 'Slowest rank',
          expr: 'max by (run) (ringmaster_rank_work_seconds) / quantile by (run) (0.5, ringmaster_rank_work_seconds)',
          unit: 'suffix:x',
          decimals: 2,
          levels: [{ color: 'transparent' }, { color: 'orange', at: 1.15 }, { color: 'red', at: 1.5 }],
        },
        { title: 'Goodput, 1 h', expr: goodput('', '1h', ' by (run)'), unit: 'percentunit', decimals: 1 },
        { title: 'Alerts', expr: 'count by (run) (ALERTS{alertname=~"Ringmaster.+", alertstate="firing"})', unit: 'short' },
      ],
      links: { Run: TO_RUN, Model: TO_PAGE },
      sortBy: 'Tokens/s',
    }),
    rows({
      title: 'Firing alerts',
      description: 'The page docs/runbooks/<Alert>.md says what to do.',
      width: 12,
      labels: { alertname: 'Alert', severity: 'Severity', run: 'Run', hostname: 'Node', node: 'Id', gpu: 'GPU', src: 'From', dst: 'To' },
      columns: [
        {
          title: 'Firing',
          expr: 'count by (alertname, severity, run, hostname, node, gpu, src, dst) (ALERTS{alertname=~"Ringmaster.+", alertstate="firing", severity!="info"})',
          unit: 'short',
          hidden: true,
        },
      ],
      links: { Run: TO_RUN, Id: TO_NODE },
    }),
    timeline(
      {
        title: 'Nodes',
        description: 'Green: the node has a session with the controller. Red: it has none; its ranks may be training.',
        unit: 'none',
        queries: [{ expr: 'max by (hostname, node) (ringmaster_node_up)', legend: '{{hostname}}' }],
        links: [TO_NODE_OF_SERIES],
      },
      { 0: { text: 'no session', color: 'red' }, 1: { text: 'up', color: 'green' } },
    ),
  ],
};

const machines: Section = {
  title: 'Machines',
  panels: [
    rows({
      title: 'Machines',
      description: 'Memory, disk and GPUs of each node. A click on its id opens its GPUs.',
      labels: { hostname: 'Node', node: 'Id' },
      columns: [
        { title: 'Session', expr: 'max by (hostname, node) (ringmaster_node_up)', unit: 'none', levels: [{ color: 'red' }, { color: 'transparent', at: 1 }] },
        {
          title: 'Memory free',
          expr: 'max by (node) (ringmaster_node_memory_available_bytes / ringmaster_node_memory_capacity_bytes)',
          unit: 'percentunit',
          decimals: 0,
          levels: [{ color: 'red' }, { color: 'orange', at: 0.05 }, { color: 'transparent', at: 0.2 }],
        },
        {
          title: 'Disk free',
          expr: 'max by (node) (ringmaster_node_disk_free_bytes / ringmaster_node_disk_capacity_bytes)',
          unit: 'percentunit',
          decimals: 0,
          levels: [{ color: 'red' }, { color: 'transparent', at: 0.05 }],
        },
        { title: 'Ranks', expr: 'count by (node) (ringmaster_rank_step_seconds)', unit: 'short' },
        { title: 'GPUs', expr: 'count by (node) (ringmaster_gpu_unfit)', unit: 'short' },
        { title: 'Unfit', expr: 'sum by (node) (ringmaster_gpu_unfit)', unit: 'short', levels: [{ color: 'transparent' }, { color: 'red', at: 1 }] },
        { title: 'Hottest', expr: 'max by (node) (ringmaster_gpu_temperature_celsius)', unit: 'celsius', decimals: 0 },
        { title: 'Power', expr: 'sum by (node) (ringmaster_gpu_power_watts)', unit: 'watt', decimals: 0 },
        { title: 'Price per hour', expr: 'sum by (node) (ringmaster_node_price_per_hour)', unit: 'short', decimals: 2 },
      ],
      links: { Id: TO_NODE },
      sortBy: 'Ranks',
    }),
    stacked({
      title: 'Devices by state',
      description: 'Free, busy, unreachable, drained and unfit devices.',
      unit: 'short',
      width: 8,
      queries: [{ expr: 'sum by (state) (ringmaster_devices)', legend: '{{state}}' }],
    }),
    stacked({
      title: 'Nodes by state',
      description: 'Nodes that are ready, drained, unreachable or gone.',
      unit: 'short',
      width: 8,
      queries: [{ expr: 'sum by (state) (ringmaster_nodes)', legend: '{{state}}' }],
    }),
    stacked({
      title: 'Live jobs by state',
      description: 'Jobs that have not ended.',
      unit: 'short',
      width: 8,
      queries: [{ expr: 'sum by (state) (ringmaster_jobs{state=~"pending|starting|running|stopping"})', legend: '{{state}}' }],
    }),
  ],
};

const controller: Section = {
  title: 'Controller and monitoring',
  panels: [
    graph({
      title: 'Calls per second',
      description: 'gRPC calls that the controller has answered, by method.',
      unit: 'reqps',
      width: 8,
      queries: [{ expr: 'sum by (method) (rate(ringmaster_rpc_handled_total[$__rate_interval]))', legend: '{{method}}' }],
    }),
    graph({
      title: 'Failed calls per second',
      description: 'Calls that did not end with `ok`. Denied ones are in `ringmaster audit --refused`.',
      unit: 'reqps',
      width: 8,
      queries: [{ expr: 'sum by (method, code) (rate(ringmaster_rpc_handled_total{code!="ok"}[$__rate_interval]))', legend: '{{method}} {{code}}' }],
    }),
    graph({
      title: 'Duration of calls, 99 of 100 are faster',
      description: 'A slow controller has a slow disk, as a rule.',
      unit: 's',
      width: 8,
      queries: [
        {
          expr: 'histogram_quantile(0.99, sum by (method, le) (rate(ringmaster_rpc_duration_seconds_bucket[$__rate_interval])))',
          legend: '{{method}}',
        },
      ],
    }),
    graph({
      title: "Free disk of the controller",
      description: 'Below 512 MiB the controller refuses step reports and logs, below 128 MiB new jobs.',
      unit: 'bytes',
      width: 8,
      min: 0,
      queries: [
        { expr: 'max(ringmaster_controller_disk_free_bytes)', legend: 'free' },
        { expr: 'max(ringmaster_controller_disk_capacity_bytes)', legend: 'capacity' },
      ],
    }),
    graph({
      title: 'Refused reports',
      description: 'Step reports and pieces of logs that the controller has refused for want of disk space; workers send them again.',
      unit: 'short',
      width: 8,
      queries: [{ expr: 'sum(increase(ringmaster_telemetry_refused_total[$__rate_interval]))', legend: 'refused' }],
    }),
    timeline(
      {
        title: 'Scrapes',
        description: 'Whether Prometheus reaches the controller and the workers that the controller lists.',
        unit: 'none',
        width: 8,
        queries: [{ expr: 'max by (role, instance) (up{role=~"controller|worker"})', legend: '{{role}} {{instance}}' }],
      },
      { 0: { text: 'down', color: 'red' }, 1: { text: 'up', color: 'green' } },
    ),
    rows({
      title: 'Versions',
      description: 'The program and version of each target.',
      height: 5,
      labels: { program: 'Program', version: 'Version', instance: 'Address' },
      columns: [{ title: 'Running', expr: 'max by (program, version, instance) (ringmaster_build_info)', unit: 'short', hidden: true }],
    }),
  ],
};

export const fleet: Board = {
  uid: 'ringmaster-fleet',
  title: 'Fleet',
  description: 'Nodes, devices, jobs and alerts of the whole cluster.',
  variables: [],
  annotations: [ALERTS, RESTARTS],
  sections: [health, runs, machines, controller],
};
