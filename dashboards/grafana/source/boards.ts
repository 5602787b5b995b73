import type { Board } from './board.js';
import { fleet } from './boards/fleet.js';
import { gpu } from './boards/gpu.js';
import { jobs } from './boards/jobs.js';
import { memory } from './boards/memory.js';
import { ring } from './boards/ring.js';
import { run } from './boards/run.js';

export const boards: Board[] = [fleet, run, ring, memory, gpu, jobs];
