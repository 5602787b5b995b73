// Why is this run slow? The first two rows answer within half a minute.
import { ALERTS_OF_RUNS, RESTARTS_OF_RUNS, RUN, type Board, type Section } from '../board.js';
import { NEUTRAL, bars, buckets, graph, number, rows, stacked } from '../panels.js';
import { GPU_LEGEND, RANK_LEGEND, RUNS, TO_NETWORK, TO_NODE_OF_SERIES, TO_PAGE, TO_PAGE_OF_SERIES, TO_RUN, goodput, named, stepTime, tokensPerSecond, whileStepping, workOverMedian } from '../queries.js';

const glance: Section = {
  title: 'At a glance',
  panels: [
    number({
      title: 'Tokens per second',
      description: 'Trained tokens of all ranks together.',
      unit: 'suffix: tok/s',
      queries: [{ expr: tokensPerSecond(RUNS), legend: '{{run}}' }],
      links: [TO_PAGE_OF_SERIES],
    }),
    number({
      title: 'MFU',
      description: "Model FLOPs over the mesh's peak, attention counted causal. Absent where the peak of a device is not known.",
      unit: 'percentunit',
      decimals: 1,
      queries: [{ expr: `max by (run) (ringmaster_train_mfu_ratio{${RUNS}, convention="causal"})`, legend: '{{run}}' }],
    }),
    number({
      title: 'Median step',
      description: 'The median of the last 32 steps.',
      unit: 's',
      queries: [{ expr: `max by (run) (ringmaster_train_median_step_seconds{${RUNS}})`, legend: '{{run}}' }],
    }),
    number({
      title: 'Since the last step',
      description: 'An alert comes after five median steps, and ten minutes at least.',
      unit: 's',
      decimals: 0,
      queries: [{ expr: `time() - max by (run) (ringmaster_train_last_step_timestamp_seconds{${RUNS}})`, legend: '{{run}}' }],
      levels: [{ color: 'green' }, { color: 'orange', at: 300 }, { color: 'red', at: 600 }],
    }),
    number({
      title: 'Waiting for other ranks',
      description: 'The share of a step in which compute waits for communication, the mean over ranks and all axes.',
      unit: 'percentunit',
      decimals: 1,
      queries: [
        {
          expr: `avg by (run) (sum by (run, rank) (rate(ringmaster_axis_exposed_seconds_total{${RUNS}}[$__rate_interval]))) / on (run) ${stepTime(RUNS)}`,
          legend: '{{run}}',
        },
      ],
      levels: [{ color: 'green' }, { color: 'orange', at: 0.2 }, { color: 'red', at: 0.4 }],
    }),
    number({
      title: 'Slowest rank',
      description: 'Its work in a step over that of the median rank. Others wait for it above 1.15.',
      unit: 'suffix:x',
      decimals: 2,
      queries: [{ expr: `max by (run) (${workOverMedian(RUNS)})`, legend: '{{run}}' }],
      levels: [{ color: 'green' }, { color: 'orange', at: 1.15 }, { color: 'red', at: 1.5 }],
    }),
    number({
      title: 'Goodput, last hour',
      description: 'The share of its time that went into steps that count.',
      unit: 'percentunit',
      decimals: 1,
      queries: [{ expr: goodput(RUNS, '1h', ' by (run)'), legend: '{{run}}' }],
      levels: [{ color: 'red' }, { color: 'orange', at: 0.8 }, { color: 'green', at: 0.95 }],
    }),
    number({
      title: 'Cost so far',
      description: "All attempts, by the controller's price list.",
      unit: 'short',
      decimals: 2,
      queries: [{ expr: `max by (run, currency) (ringmaster_run_cost{${RUNS}})`, legend: '{{currency}}' }],
      levels: NEUTRAL,
    }),
  ],
};

const why: Section = {
  title: 'Why is it slow?',
  panels: [
    stacked({
      title: "Where a step's time goes",
      description:
        'Phases of rank 0. In an _exposed phase compute waits: ring, tensor, ulysses, reduce and gather for other ranks, offload for PCIe. `data` is the file system.',
      unit: 'percentunit',
      min: 0,
      max: 1,
      height: 9,
      queries: [
        {
          expr: `sum by (run, phase) (rate(ringmaster_train_phase_seconds_total{${RUNS}}[$__rate_interval])) / on (run) group_left () ${stepTime(RUNS)}`,
          legend: '{{phase}}',
        },
      ],
      links: [TO_NETWORK],
    }),
    graph({
      title: 'Work of each rank over the median',
      description:
        'The time in which a rank does not wait for others, over that of the median rank. A rank above the line makes all others wait; look at its GPU.',
      unit: 'suffix:x',
      decimals: 2,
      height: 9,
      levels: [{ color: 'transparent' }, { color: 'red', at: 1.15 }],
      queries: [{ expr: named(workOverMedian(RUNS)), legend: RANK_LEGEND }],
      links: [TO_NODE_OF_SERIES],
    }),
    bars({
      title: 'The slowest ranks',
      description: 'Work of the last step, the five longest.',
      unit: 's',
      queries: [{ expr: `topk(5, ${named(`max by (run, node, gpu, rank) (ringmaster_rank_work_seconds{${RUNS}})`)})`, legend: RANK_LEGEND }],
      levels: NEUTRAL,
      links: [TO_NODE_OF_SERIES],
    }),
    graph({
      title: "Lowered clocks of this run's GPUs",
      description: 'The share of time with lowered clocks by reason, of GPUs on which the run has ranks. A power cap is normal.',
      unit: 'percentunit',
      width: 8,
      queries: [
        {
          expr: named(
            `sum by (node, gpu, reason) (rate(ringmaster_gpu_throttle_seconds_total[$__rate_interval]))` +
              ` and on (node, gpu) ringmaster_rank_step_seconds{${RUNS}}`,
          ),
          legend: `${GPU_LEGEND} {{reason}}`,
        },
      ],
      links: [TO_NODE_OF_SERIES],
    }),
    rows({
      title: "This run's alerts",
      description: 'The page docs/runbooks/<Alert>.md says what to do.',
      width: 8,
      labels: { alertname: 'Alert', severity: 'Severity', run: 'Run', rank: 'Rank' },
      columns: [
        {
          title: 'Firing',
          expr: `count by (alertname, severity, run, rank) (ALERTS{alertname=~"Ringmaster.+", alertstate="firing", ${RUNS}})`,
          unit: 'short',
          hidden: true,
        },
      ],
    }),
  ],
};

const training: Section = {
  title: 'Training',
  panels: [
    graph({
      title: 'Loss',
      description: 'Nats per target token. A gap: it was not finite.',
      unit: 'none',
      decimals: 4,
      queries: [
        { expr: `max by (run) (ringmaster_train_loss{${RUNS}})`, legend: '{{run}}' },
        { expr: `max by (run) (ringmaster_train_held_out_loss{${RUNS}})`, legend: '{{run}} held out' },
      ],
    }),
    graph({
      title: 'Norm of the gradient',
      description: 'Before clipping.',
      unit: 'none',
      queries: [{ expr: `max by (run) (ringmaster_train_grad_norm{${RUNS}})`, legend: '{{run}}' }],
    }),
    graph({
      title: 'Tokens per second',
      description: 'All ranks together.',
      unit: 'suffix: tok/s',
      width: 8,
      queries: [{ expr: tokensPerSecond(RUNS), legend: '{{run}}' }],
    }),
    graph({
      title: 'MFU and HFU',
      description: 'MFU with attention counted causal and full; HFU counts recomputed FLOPs, too.',
      unit: 'percentunit',
      width: 8,
      queries: [
        { expr: `max by (run, convention) (ringmaster_train_mfu_ratio{${RUNS}})`, legend: '{{run}} MFU, {{convention}}' },
        { expr: `max by (run) (ringmaster_train_hfu_ratio{${RUNS}})`, legend: '{{run}} HFU' },
      ],
    }),
    graph({
      title: 'FLOP per second',
      description: 'Model FLOPs of all ranks, attention counted causal.',
      unit: 'flops',
      width: 8,
      queries: [{ expr: whileStepping(`ringmaster_train_flops_total{${RUNS}}`, ''), legend: '{{run}}' }],
    }),
    graph({
      title: 'Duration of a step',
      description: 'Its median of 32 steps, and the last step of the slowest rank.',
      unit: 's',
      width: 8,
      queries: [
        { expr: `max by (run) (ringmaster_train_median_step_seconds{${RUNS}})`, legend: '{{run}} median' },
        { expr: `max by (run) (ringmaster_rank_step_seconds{${RUNS}})`, legend: '{{run}} last' },
      ],
    }),
    buckets({
      title: 'Durations of steps',
      description: 'How many steps took how long. Two bands: something disturbs some of the steps, such as a checkpoint.',
      unit: 's',
      width: 8,
      queries: [{ expr: `sum by (le) (increase(ringmaster_train_step_duration_seconds_bucket{${RUNS}}[$__rate_interval]))` }],
    }),
    graph({
      title: 'Step and learning rate',
      description: 'The last finished step (left) and its learning rate (right).',
      unit: 'none',
      width: 8,
      queries: [
        { expr: `max by (run) (ringmaster_train_step{${RUNS}})`, legend: '{{run}} step' },
        { expr: `max by (run) (ringmaster_train_learning_rate{${RUNS}})`, legend: '{{run}} learning rate' },
      ],
    }).overrideByRegexp('.* learning rate$', [{ id: 'custom.axisPlacement', value: 'right' }]),
  ],
};

const safety: Section = {
  title: 'Checkpoints and faults',
  panels: [
    graph({
      title: 'Age of the last checkpoint, and when the next is due',
      description: 'Work that a failure now would lose, and the time until the next checkpoint should be complete; below zero it is late.',
      unit: 's',
      width: 8,
      queries: [
        { expr: `time() - max by (run) (ringmaster_train_checkpoint_last_success_timestamp_seconds{${RUNS}})`, legend: '{{run}} age' },
        { expr: `max by (run) (ringmaster_train_checkpoint_due_timestamp_seconds{${RUNS}}) - time()`, legend: '{{run}} due in' },
      ],
    }),
    graph({
      title: 'Duration of checkpoints',
      description: 'How long the last one took.',
      unit: 's',
      width: 8,
      queries: [{ expr: `max by (run) (ringmaster_train_checkpoint_duration_seconds{${RUNS}})`, legend: '{{run}}' }],
    }),
    graph({
      title: 'Skipped updates and alarms',
      description: 'Updates skipped because the gradient was not finite, and alarms such as a damaged checkpoint.',
      unit: 'short',
      width: 8,
      queries: [
        { expr: `sum by (run) (increase(ringmaster_train_nonfinite_steps_total{${RUNS}}[$__rate_interval]))`, legend: '{{run}} skipped' },
        { expr: `sum by (run) (increase(ringmaster_train_alarms_total{${RUNS}}[$__rate_interval]))`, legend: '{{run}} alarms' },
      ],
    }),
    graph({
      title: 'FP8: error of the worst tensor',
      description: 'Relative error of what is rounded to FP8, by its place in a layer: the largest of all layers. About 0.03 in e4m3 and 0.06 in e5m2 where nothing is wrong.',
      unit: 'percentunit',
      width: 8,
      queries: [{ expr: `max by (run, tensor) (ringmaster_train_fp8_error_ratio{${RUNS}})`, legend: '{{run}} {{tensor}}' }],
    }),
    graph({
      title: 'FP8: numbers lost',
      description: 'Share of a tensor that became 0 (flushed) or was too large for its scale (saturated), the largest of all layers.',
      unit: 'percentunit',
      width: 8,
      queries: [
        { expr: `max by (run, tensor) (ringmaster_train_fp8_flushed_ratio{${RUNS}})`, legend: '{{run}} {{tensor}} flushed' },
        { expr: `max by (run, tensor) (ringmaster_train_fp8_saturated_ratio{${RUNS}})`, legend: '{{run}} {{tensor}} saturated' },
      ],
    }),
    graph({
      title: 'FP8: layers back in bf16',
      description: 'Layers that FP8 does not hold for now, and how often a layer left FP8.',
      unit: 'short',
      width: 8,
      queries: [
        { expr: `max by (run) (ringmaster_train_fp8_fallback_layers{${RUNS}})`, legend: '{{run}} layers' },
        { expr: `sum by (run) (increase(ringmaster_train_fp8_fallbacks_total{${RUNS}}[$__rate_interval]))`, legend: '{{run}} left FP8' },
      ],
    }),
    graph({
      title: 'Right answers of suites',
      description: 'The mean over depths or tasks, by the tokens of the texts.',
      unit: 'percentunit',
      width: 8,
      queries: [
        { expr: `max by (run, suite, length) (ringmaster_train_suite_score_ratio{${RUNS}})`, legend: '{{run}} {{suite}} {{length}}' },
      ],
    }),
    stacked({
      title: 'Lost time by cause',
      description: 'Seconds lost per second: waiting in the queue, starting, restoring, recomputing, checkpoints, stalls, stragglers, idling.',
      unit: 'percentunit',
      width: 8,
      queries: [{ expr: `sum by (run, cause) (rate(ringmaster_train_badput_seconds_total{${RUNS}}[$__rate_interval]))`, legend: '{{run}} {{cause}}' }],
    }),
    graph({
      title: 'Measured over planned, less 1',
      description: 'Time of a step and memory of the device: above zero the run needs more than its plan said.',
      unit: 'percentunit',
      width: 8,
      queries: [{ expr: `max by (run, quantity) (ringmaster_plan_error_ratio{${RUNS}})`, legend: '{{run}} {{quantity}}' }],
    }),
    rows({
      title: 'The run',
      description: 'Its model, context, mesh and user.',
      width: 8,
      labels: { run: 'Run', model: 'Model', context: 'Context', user: 'User', mesh: 'Mesh' },
      columns: [{ title: 'Runs', expr: `max by (run, model, context, user, mesh) (ringmaster_run_info{${RUNS}})`, unit: 'short', hidden: true }],
      links: { Run: TO_RUN, Model: TO_PAGE },
    }),
  ],
};

export const run: Board = {
  uid: 'ringmaster-run',
  title: 'Run',
  description: 'One run: its pace, where its time goes, its training and its checkpoints.',
  variables: [RUN],
  annotations: [ALERTS_OF_RUNS, RESTARTS_OF_RUNS],
  sections: [glance, why, training, safety],
};
