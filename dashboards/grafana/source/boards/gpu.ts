// The hardware: heat, power, errors.
import { ALERTS_OF_NODES, GPU, NODE, type Board, type Section } from '../board.js';
import { GOOD_WHEN_ZERO, graph, number, rows, stacked, timeline } from '../panels.js';
import { GPUS, GPU_LEGEND, named } from '../queries.js';

const BY_GPU = 'by (node, gpu)';

const glance: Section = {
  title: 'Is the hardware healthy?',
  panels: [
    number({
      title: 'Unfit GPUs',
      description: 'No job is placed there; `ringmaster nodes -o wide` says why.',
      unit: 'short',
      width: 4,
      queries: [{ expr: `sum(ringmaster_gpu_unfit{${GPUS}})` }],
      levels: GOOD_WHEN_ZERO,
    }),
    number({
      title: 'Xids, all since start',
      description: 'Errors that drivers have reported since the workers started.',
      unit: 'short',
      width: 4,
      queries: [{ expr: `sum(ringmaster_gpu_xid_errors_total{${GPUS}}) or vector(0)` }],
      levels: GOOD_WHEN_ZERO,
    }),
    number({
      title: 'Uncorrectable memory errors',
      description: 'Since the last reset of each GPU.',
      unit: 'short',
      width: 4,
      queries: [{ expr: `sum(ringmaster_gpu_ecc_errors{${GPUS}, kind="uncorrected"})` }],
      levels: GOOD_WHEN_ZERO,
    }),
    number({
      title: 'Hottest GPU',
      description: 'Data sheets name 80 to 90 degrees as the limit.',
      unit: 'celsius',
      decimals: 0,
      width: 4,
      queries: [{ expr: `max(ringmaster_gpu_temperature_celsius{${GPUS}})` }],
      levels: [{ color: 'green' }, { color: 'orange', at: 80 }, { color: 'red', at: 87 }],
    }),
    number({
      title: 'Lowered clocks by heat or supply',
      description: 'The share of time of the worst GPU. A power cap does not count.',
      unit: 'percentunit',
      decimals: 1,
      width: 4,
      queries: [
        {
          expr: `max(sum ${BY_GPU} (rate(ringmaster_gpu_throttle_seconds_total{${GPUS}, reason!="power_cap"}[$__rate_interval]))) or vector(0)`,
        },
      ],
      levels: [{ color: 'green' }, { color: 'orange', at: 0.01 }, { color: 'red', at: 0.1 }],
    }),
    number({
      title: 'Power',
      description: 'All chosen GPUs together draw it now.',
      unit: 'watt',
      decimals: 0,
      width: 4,
      queries: [{ expr: `sum(ringmaster_gpu_power_watts{${GPUS}})` }],
    }),
  ],
};

const each: Section = {
  title: 'Each GPU',
  panels: [
    rows({
      title: 'GPUs',
      description: 'Sorted by temperature. UUID is the label of dcgm-exporter, too.',
      height: 10,
      labels: { hostname: 'Node', node: 'Id', gpu: 'GPU', UUID: 'UUID' },
      columns: [
        {
          title: 'Temperature',
          expr: named(`max by (node, gpu, UUID) (ringmaster_gpu_temperature_celsius{${GPUS}})`),
          unit: 'celsius',
          decimals: 0,
          levels: [{ color: 'transparent' }, { color: 'orange', at: 80 }, { color: 'red', at: 87 }],
        },
        { title: 'Power', expr: `max by (node, gpu, UUID) (ringmaster_gpu_power_watts{${GPUS}})`, unit: 'watt', decimals: 0 },
        {
          title: 'Memory used',
          expr: `max by (node, gpu, UUID) (ringmaster_gpu_memory_used_bytes{${GPUS}} / ringmaster_gpu_memory_bytes{${GPUS}})`,
          unit: 'percentunit',
          decimals: 1,
        },
        {
          title: 'Unfit',
          expr: `max by (node, gpu, UUID) (ringmaster_gpu_unfit{${GPUS}})`,
          unit: 'none',
          levels: [{ color: 'transparent' }, { color: 'red', at: 1 }],
        },
        {
          title: 'Uncorrectable',
          expr: `max by (node, gpu, UUID) (ringmaster_gpu_ecc_errors{${GPUS}, kind="uncorrected"})`,
          unit: 'short',
          levels: [{ color: 'transparent' }, { color: 'red', at: 1 }],
        },
        { title: 'Corrected', expr: `max by (node, gpu, UUID) (ringmaster_gpu_ecc_errors{${GPUS}, kind="corrected"})`, unit: 'short' },
        {
          title: 'Clocks lowered',
          expr: `sum by (node, gpu, UUID) (rate(ringmaster_gpu_throttle_seconds_total{${GPUS}, reason!="power_cap"}[$__rate_interval]))`,
          unit: 'percentunit',
          decimals: 1,
        },
      ],
      sortBy: 'Temperature',
    }),
    graph({
      title: 'Temperature',
      description: 'A GPU that is hotter than its neighbours has a cooling problem; a node, the room.',
      unit: 'celsius',
      queries: [{ expr: named(`max ${BY_GPU} (ringmaster_gpu_temperature_celsius{${GPUS}})`), legend: GPU_LEGEND }],
    }),
    graph({
      title: 'Power by the energy meter',
      description: "The rate of each GPU's energy counter: true means, unlike samples of the power.",
      unit: 'watt',
      queries: [{ expr: named(`sum ${BY_GPU} (rate(ringmaster_gpu_energy_joules_total{${GPUS}}[$__rate_interval]))`), legend: GPU_LEGEND }],
    }),
    stacked({
      title: 'Lowered clocks by reason',
      description: 'Seconds per second of all chosen GPUs. power_cap is normal under load; hw_thermal and sw_thermal are heat; hw_slowdown is heat or the supply.',
      unit: 'percentunit',
      queries: [{ expr: `sum by (reason) (rate(ringmaster_gpu_throttle_seconds_total{${GPUS}}[$__rate_interval]))`, legend: '{{reason}}' }],
    }),
    timeline(
      {
        title: 'Fitness',
        description: 'Red: no job is placed on the GPU.',
        unit: 'none',
        queries: [{ expr: named(`max ${BY_GPU} (ringmaster_gpu_unfit{${GPUS}})`), legend: GPU_LEGEND }],
      },
      { 0: { text: 'fit', color: 'green' }, 1: { text: 'unfit', color: 'red' } },
    ),
  ],
};

const errors: Section = {
  title: 'Errors',
  panels: [
    rows({
      title: 'Xids since the workers started',
      description: 'docs/runbooks/RingmasterXidHardware.md and RingmasterXidApplication.md say which are faults of the hardware.',
      width: 8,
      labels: { hostname: 'Node', node: 'Id', gpu: 'GPU', xid: 'Xid' },
      columns: [{ title: 'Times', expr: named(`sum by (node, gpu, xid) (ringmaster_gpu_xid_errors_total{${GPUS}})`), unit: 'short' }],
    }),
    graph({
      title: 'Memory errors since the last reset',
      description: 'Corrected ones harm nothing; a rising number precedes uncorrectable ones.',
      unit: 'short',
      width: 8,
      queries: [{ expr: named(`max by (node, gpu, kind) (ringmaster_gpu_ecc_errors{${GPUS}})`), legend: `${GPU_LEGEND} {{kind}}` }],
    }),
    graph({
      title: 'PCIe replays per second',
      description: 'Repeated transfers. A card that repeats many has a bad contact.',
      unit: 'cps',
      width: 8,
      queries: [{ expr: named(`sum ${BY_GPU} (rate(ringmaster_gpu_pcie_replays_total{${GPUS}}[$__rate_interval]))`), legend: GPU_LEGEND }],
    }),
  ],
};

export const gpu: Board = {
  uid: 'ringmaster-gpu',
  title: 'GPU health',
  description: 'Temperature, power, throttling and errors of GPUs.',
  variables: [NODE, GPU],
  annotations: [ALERTS_OF_NODES],
  sections: [glance, each, errors],
};
