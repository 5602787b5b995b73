// Communication: which axis and which link makes compute wait.
import { ALERTS_OF_RUNS, NODE, RESTARTS_OF_RUNS, RUN, type Board, type Section } from '../board.js';
import { GOOD_WHEN_ZERO, graph, matrix, number, rows, stacked } from '../panels.js';
import { LINK_LEGEND, NODES, RANK_LEGEND, RUNS, TO_NODE_OF_SERIES, linkNamed, named, stepTime, whileStepping } from '../queries.js';

const OF_RANK = ', node, gpu, rank';
const OF_RANKS = `${RUNS}, ${NODES}`;
const NETWORK = 'class="network", src!="", dst!=""';
const BANDWIDTH = `max by (src, dst) (ringmaster_link_bandwidth_bytes_per_second{${NETWORK}})`;
const BASELINE = `max by (src, dst) (ringmaster_link_baseline_bytes_per_second{${NETWORK}})`;

const glance: Section = {
  title: 'At a glance',
  panels: [
    number({
      title: 'Waiting for the ring',
      description: 'The share of a step in which compute waits for keys and values of the next rank, the mean over ranks.',
      unit: 'percentunit',
      decimals: 1,
      width: 4,
      queries: [
        {
          expr: `avg by (run) (rate(ringmaster_ring_wait_seconds_total{${RUNS}}[$__rate_interval])) / on (run) ${stepTime(RUNS)}`,
          legend: '{{run}}',
        },
      ],
      levels: [{ color: 'green' }, { color: 'orange', at: 0.15 }, { color: 'red', at: 0.3 }],
    }),
    number({
      title: 'Sent along rings',
      description: 'By all ranks together.',
      unit: 'Bps',
      width: 4,
      queries: [{ expr: whileStepping(`ringmaster_ring_tx_bytes_total{${RUNS}}`, ''), legend: '{{run}}' }],
    }),
    number({
      title: 'Sent for each token',
      description: 'Bytes on all axes over trained tokens: it follows from the mesh and should be steady.',
      unit: 'bytes',
      width: 4,
      queries: [
        {
          expr:
            `sum by (run) (rate(ringmaster_axis_tx_bytes_total{${RUNS}}[$__rate_interval]))` +
            ` / sum by (run) (rate(ringmaster_train_tokens_total{${RUNS}}[$__rate_interval]))`,
          legend: '{{run}}',
        },
      ],
    }),
    number({
      title: 'Degraded links',
      description: 'Links below 0.7 of their baseline, as `ringmaster links` marks them.',
      unit: 'short',
      width: 4,
      queries: [{ expr: 'max(ringmaster_links_degraded)' }],
      levels: GOOD_WHEN_ZERO,
    }),
    number({
      title: 'Slowest link over its baseline',
      description: 'The smallest share of a baseline that a link reaches.',
      unit: 'percentunit',
      width: 4,
      queries: [{ expr: `min(${BANDWIDTH} / ${BASELINE})` }],
      levels: [{ color: 'red' }, { color: 'orange', at: 0.7 }, { color: 'green', at: 0.85 }],
    }),
    number({
      title: 'Age of the survey',
      description: 'Time since a link was last measured. `ringmaster survey` measures again.',
      unit: 's',
      decimals: 0,
      width: 4,
      queries: [{ expr: 'time() - max(ringmaster_link_survey_timestamp_seconds > 0)' }],
    }),
  ],
};

const axes: Section = {
  title: 'Where do ranks wait?',
  panels: [
    stacked({
      title: 'Waiting by axis',
      description: 'The share of a step in which compute waits, by axis of the mesh, the mean over ranks. `gradient` is the ZeRO group.',
      unit: 'percentunit',
      min: 0,
      queries: [
        {
          expr: `avg by (run, axis) (rate(ringmaster_axis_exposed_seconds_total{${OF_RANKS}}[$__rate_interval])) / on (run) group_left () ${stepTime(RUNS)}`,
          legend: '{{run}} {{axis}}',
        },
      ],
    }),
    graph({
      title: 'Waiting for the ring by rank',
      description: 'All ranks but one wait: that one is slow. All wait alike: the network is, or the chunks are too small.',
      unit: 'percentunit',
      min: 0,
      queries: [
        {
          expr: named(whileStepping(`ringmaster_ring_wait_seconds_total{${OF_RANKS}}`, OF_RANK)),
          legend: RANK_LEGEND,
        },
      ],
      links: [TO_NODE_OF_SERIES],
    }),
    stacked({
      title: 'Sent by axis',
      description: 'Bytes per second of all ranks, by axis of the mesh.',
      unit: 'Bps',
      queries: [{ expr: whileStepping(`ringmaster_axis_tx_bytes_total{${OF_RANKS}}`, ', axis'), legend: '{{run}} {{axis}}' }],
    }),
    graph({
      title: 'Sent along the ring by rank',
      description: 'Ranks of one ring send alike.',
      unit: 'Bps',
      queries: [{ expr: named(whileStepping(`ringmaster_ring_tx_bytes_total{${OF_RANKS}}`, OF_RANK)), legend: RANK_LEGEND }],
      links: [TO_NODE_OF_SERIES],
    }),
  ],
};

const network: Section = {
  title: 'Links, as the last survey measured them',
  panels: [
    matrix({
      title: 'Bandwidth between nodes',
      description: 'Rows send, columns receive; red is slow. Up to 64 nodes; above, the table beside has the best of each node.',
      unit: 'Bps',
      decimals: 1,
      row: 'src_name',
      column: 'dst_name',
      queries: [{ expr: `max by (src_name, dst_name) (${linkNamed(BANDWIDTH)})` }],
    }),
    rows({
      title: 'Links and their baselines',
      description: 'The baseline is the median of the last five good surveys. Below 0.7 of it a link is degraded.',
      width: 12,
      height: 10,
      labels: { src_name: 'From', dst_name: 'To', src: 'From id', dst: 'To id' },
      columns: [
        { title: 'Bandwidth', expr: linkNamed(BANDWIDTH), unit: 'Bps', decimals: 1 },
        { title: 'Baseline', expr: linkNamed(BASELINE), unit: 'Bps', decimals: 1 },
        {
          title: 'Ratio',
          expr: linkNamed(`${BANDWIDTH} / ${BASELINE}`),
          unit: 'percentunit',
          decimals: 0,
          levels: [{ color: 'red' }, { color: 'orange', at: 0.7 }, { color: 'transparent', at: 0.85 }],
        },
      ],
    }),
    graph({
      title: 'Bandwidth over baseline, the ten lowest',
      description: 'A level that falls for all links of one node points to its card, for all links between two groups to their cable.',
      unit: 'percentunit',
      queries: [{ expr: `bottomk(10, ${linkNamed(`${BANDWIDTH} / ${BASELINE}`)})`, legend: LINK_LEGEND }],
      levels: [{ color: 'red' }, { color: 'transparent', at: 0.7 }],
    }),
    graph({
      title: 'Latency, the ten longest',
      description: 'One way: half of the median round trip.',
      unit: 's',
      queries: [{ expr: `topk(10, ${linkNamed('max by (src, dst) (ringmaster_link_latency_seconds)')})`, legend: LINK_LEGEND }],
    }),
    graph({
      title: 'Best rate of each node',
      description: 'To send (its name first) and to receive. Above 64 nodes these are all that the controller exports.',
      unit: 'Bps',
      queries: [
        {
          expr: named('label_replace(max by (src) (ringmaster_link_bandwidth_bytes_per_second{class="network", src!=""}), "node", "$1", "src", "(.*)")'),
          legend: '{{hostname}} sends',
        },
        {
          expr: named('label_replace(max by (dst) (ringmaster_link_bandwidth_bytes_per_second{class="network", dst!=""}), "node", "$1", "dst", "(.*)")'),
          legend: '{{hostname}} receives',
        },
      ],
    }),
    graph({
      title: 'Copies inside nodes',
      description: 'Between a device and its host, and between devices. Offloading cannot be faster.',
      unit: 'Bps',
      queries: [
        {
          expr: 'max by (class, src, dst) (ringmaster_link_bandwidth_bytes_per_second{class!="network"})',
          legend: '{{class}} {{src}} to {{dst}}',
        },
      ],
    }),
  ],
};

export const ring: Board = {
  uid: 'ringmaster-ring',
  title: 'Ring and network',
  description: 'Communication of runs by axis and rank, and the measured links of the fleet.',
  variables: [RUN, NODE],
  annotations: [ALERTS_OF_RUNS, RESTARTS_OF_RUNS],
  sections: [glance, axes, network],
};
