// Memory of devices and hosts, and what moves between them.
import { ALERTS_OF_RUNS, GPU_OF_RANK, NODE, RESTARTS_OF_RUNS, RUN, type Board, type Section } from '../board.js';
import { graph, number, stacked } from '../panels.js';
import { GPUS, GPU_LEGEND, NODES, RANKS, RANK_LEGEND, RUNS, TO_NODE_OF_SERIES, named, stepTime, whileStepping } from '../queries.js';

const BY_RANK = 'by (run, node, gpu, rank)';
const HELD = `sum ${BY_RANK} (ringmaster_device_memory_bytes{${RANKS}})`;
const CAPACITY = `max ${BY_RANK} (ringmaster_device_memory_capacity_bytes{${RANKS}})`;
const GPU_USED = `max by (node, gpu) (ringmaster_gpu_memory_used_bytes{${GPUS}})`;

const glance: Section = {
  title: 'At a glance',
  panels: [
    number({
      title: 'Fullest device',
      description: "Memory of the rank that holds most, over its device's.",
      unit: 'percentunit',
      decimals: 1,
      width: 4,
      queries: [{ expr: `max(${HELD} / ${CAPACITY})` }],
      levels: [{ color: 'green' }, { color: 'orange', at: 0.95 }, { color: 'red', at: 0.98 }],
    }),
    number({
      title: 'Least headroom',
      description: 'Free memory of the fullest GPU, with what other processes hold.',
      unit: 'bytes',
      width: 4,
      queries: [{ expr: `min(ringmaster_gpu_memory_bytes{${GPUS}} - ringmaster_gpu_memory_used_bytes{${GPUS}})` }],
    }),
    number({
      title: 'Offloaded to hosts',
      description: 'Host memory in place of device memory, of all ranks.',
      unit: 'bytes',
      width: 4,
      queries: [{ expr: `sum by (run) (ringmaster_host_offload_bytes{${RANKS}})`, legend: '{{run}}' }],
    }),
    number({
      title: 'Waiting for offloading',
      description: 'The share of a step in which compute waits for copies between host and device, of rank 0.',
      unit: 'percentunit',
      decimals: 1,
      width: 4,
      queries: [
        {
          expr: `sum by (run) (rate(ringmaster_train_phase_seconds_total{${RUNS}, phase="offload_exposed"}[$__rate_interval])) / ${stepTime(RUNS)}`,
          legend: '{{run}}',
        },
      ],
      levels: [{ color: 'green' }, { color: 'orange', at: 0.1 }, { color: 'red', at: 0.25 }],
    }),
    number({
      title: 'Least free host memory',
      description: 'The share of a machine that is still available, the smallest.',
      unit: 'percentunit',
      decimals: 0,
      width: 4,
      queries: [{ expr: `min(ringmaster_node_memory_available_bytes{${NODES}} / ringmaster_node_memory_capacity_bytes{${NODES}})` }],
      levels: [{ color: 'red' }, { color: 'orange', at: 0.05 }, { color: 'green', at: 0.2 }],
    }),
    number({
      title: 'Device memory against the plan',
      description: 'Measured over planned memory of the device, less 1.',
      unit: 'percentunit',
      decimals: 1,
      width: 4,
      queries: [{ expr: `max by (run) (ringmaster_plan_error_ratio{${RUNS}, quantity="device_memory"})`, legend: '{{run}}' }],
    }),
  ],
};

const device: Section = {
  title: 'Devices',
  panels: [
    stacked({
      title: 'Device memory by content',
      description: 'The mean over the chosen ranks. It is planned before training begins, so it is steady within a stage.',
      unit: 'bytes',
      queries: [{ expr: `avg by (run, kind) (ringmaster_device_memory_bytes{${RANKS}})`, legend: '{{run}} {{kind}}' }],
    }),
    graph({
      title: 'Device memory of each rank over its capacity',
      description: 'All ranks of a run should be close together.',
      unit: 'percentunit',
      max: 1,
      queries: [{ expr: named(`${HELD} / ${CAPACITY}`), legend: RANK_LEGEND }],
      links: [TO_NODE_OF_SERIES],
    }),
    graph({
      title: 'Free memory of GPUs',
      description: 'With what all processes hold. Below 2 % an alert comes.',
      unit: 'bytes',
      min: 0,
      queries: [{ expr: named(`max by (node, gpu) (ringmaster_gpu_memory_bytes{${GPUS}}) - ${GPU_USED}`), legend: GPU_LEGEND }],
      links: [TO_NODE_OF_SERIES],
    }),
    graph({
      title: 'GPU memory beside the rank',
      description: 'All memory held on a GPU less the memory that its rank has planned: contexts, libraries, and other programs. A few hundred MiB are normal.',
      unit: 'bytes',
      queries: [{ expr: named(`${GPU_USED} - on (node, gpu) sum by (node, gpu) (ringmaster_device_memory_bytes{${RANKS}})`), legend: GPU_LEGEND }],
      links: [TO_NODE_OF_SERIES],
    }),
  ],
};

const host: Section = {
  title: 'Hosts and transfers',
  panels: [
    stacked({
      title: 'Host memory by content',
      description: 'State of ranks that lives beside the device, all chosen ranks together.',
      unit: 'bytes',
      width: 8,
      queries: [{ expr: `sum by (run, kind) (ringmaster_host_memory_bytes{${RANKS}})`, legend: '{{run}} {{kind}}' }],
    }),
    graph({
      title: 'Offloaded by rank',
      description: 'Host memory in place of device memory: activations and state.',
      unit: 'bytes',
      width: 8,
      queries: [{ expr: named(`max ${BY_RANK} (ringmaster_host_offload_bytes{${RANKS}})`), legend: RANK_LEGEND }],
    }),
    graph({
      title: 'Available memory of machines',
      description: 'Memory that programs can still get. The kernel ends ranks when it is used up.',
      unit: 'bytes',
      width: 8,
      min: 0,
      queries: [{ expr: named(`max by (node) (ringmaster_node_memory_available_bytes{${NODES}})`), legend: '{{hostname}}' }],
    }),
    graph({
      title: 'Host to device',
      description: 'Compare with "Copies inside nodes" on Ring and network: that is the limit.',
      unit: 'Bps',
      width: 8,
      queries: [{ expr: named(whileStepping(`ringmaster_h2d_bytes_total{${RANKS}}`, ', node, gpu, rank')), legend: RANK_LEGEND }],
    }),
    graph({
      title: 'Device to host',
      description: 'Compare with "Copies inside nodes" on Ring and network: that is the limit.',
      unit: 'Bps',
      width: 8,
      queries: [{ expr: named(whileStepping(`ringmaster_d2h_bytes_total{${RANKS}}`, ', node, gpu, rank')), legend: RANK_LEGEND }],
    }),
    graph({
      title: 'Free disk of machines',
      description: 'The disk with the state of the worker and logs of ranks.',
      unit: 'bytes',
      width: 8,
      min: 0,
      queries: [{ expr: named(`max by (node) (ringmaster_node_disk_free_bytes{${NODES}})`), legend: '{{hostname}}' }],
    }),
  ],
};

export const memory: Board = {
  uid: 'ringmaster-memory',
  title: 'Memory and offload',
  description: 'Memory of devices and hosts by content, headroom, and transfers between host and device.',
  variables: [RUN, NODE, GPU_OF_RANK],
  annotations: [ALERTS_OF_RUNS, RESTARTS_OF_RUNS],
  sections: [glance, device, host],
};
