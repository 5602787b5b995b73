// The rings of an attempt: which rank sends to which along the axis `ring`.
import type { Attempt } from "./api/types";

export interface Hop {
  from: number; // ranks
  to: number;
  ring: number; // which of the rings
}

/** Ranks of one ring share their places on all other axes; each sends to the next place, the last to the first. */
export function hopsOf(attempt: Attempt | undefined): Hop[] {
  const size = attempt?.mesh?.ring ?? 1;
  if (size < 2) return [];
  const rings = new Map<string, number[]>();
  (attempt?.placement ?? []).forEach((place, rank) => {
    const at = place.coordinates ?? {};
    const key = `${at.data ?? 0}.${at.ulysses ?? 0}.${at.tensor ?? 0}`;
    const members = rings.get(key) ?? [];
    members[at.ring ?? 0] = rank;
    rings.set(key, members);
  });
  return [...rings.values()].flatMap((members, ring) =>
    members.map((from, i) => ({ from, to: members[(i + 1) % members.length]!, ring })),
  );
}

export interface NodeHop {
  from: string; // nodes
  to: string;
  ring: number;
}

/** The hops that leave their node, each pair of nodes once per ring. */
export function nodeHops(attempt: Attempt | undefined): NodeHop[] {
  const nodeOf = (rank: number) => attempt?.placement?.[rank]?.nodeId ?? "";
  const seen = new Map<string, NodeHop>();
  for (const hop of hopsOf(attempt)) {
    const [from, to] = [nodeOf(hop.from), nodeOf(hop.to)];
    if (from !== to) seen.set(`${from} ${to} ${hop.ring}`, { from, to, ring: hop.ring });
  }
  return [...seen.values()];
}
