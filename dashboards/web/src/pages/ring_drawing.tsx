import { gbit } from "../format";
import type { NodeHop } from "../rings";
import { colorAt } from "../theme";
import type { Survey } from "./cluster";

const kSize = 420;
const kRadius = 150;

/** The nodes that the rings visit, in the order of the first ring, so that it is a circle. */
function orderOf(hops: NodeHop[]): string[] {
  const order: string[] = [];
  const next = new Map(hops.filter((hop) => hop.ring === hops[0]!.ring).map((hop) => [hop.from, hop.to]));
  for (let at: string | undefined = hops[0]!.from; at && !order.includes(at); at = next.get(at)) order.push(at);
  for (const hop of hops) for (const node of [hop.from, hop.to]) if (!order.includes(node)) order.push(node);
  return order;
}

/** The nodes on a circle, each ring's hops as arrows with the rate of their link; a degraded link is broken. */
export function RingDrawing({ survey, hops }: { survey: Survey; hops: NodeHop[] }) {
  const order = orderOf(hops);
  const name = (id: string) => survey.nodes.find((node) => node.id === id)?.hostname ?? id.slice(0, 8);
  const pair = order.length === 2; // left and right, for a low drawing
  const place = (id: string, radius: number): [number, number] => {
    const angle = (order.indexOf(id) / order.length) * 2 * Math.PI - (pair ? Math.PI : Math.PI / 2);
    return [kSize / 2 + radius * Math.cos(angle), kSize / 2 + radius * Math.sin(angle)];
  };
  const few = order.length <= 16;
  const path = (hop: NodeHop) => {
    const [[x0, y0], [x1, y1]] = [place(hop.from, kRadius), place(hop.to, kRadius)];
    // Bends outwards, further for each further ring.
    const bend = (pair ? 0.2 : 0.08) + 0.05 * (hop.ring % 6);
    const [mx, my] = [(x0 + x1) / 2 + (y1 - y0) * bend, (y0 + y1) / 2 - (x1 - x0) * bend];
    return { line: `M${x0},${y0} Q${mx},${my} ${x1},${y1}`, mx: (x0 + 2 * mx + x1) / 4, my: (y0 + 2 * my + y1) / 4 };
  };
  return (
    <svg
      class="rings"
      viewBox={pair ? `0 110 ${kSize} 200` : `0 0 ${kSize} ${kSize}`}
      role="img"
      aria-label={`Rings over ${order.length} nodes`}
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="8"
          refY="4"
          markerWidth={few ? 5 : 3}
          markerHeight={few ? 5 : 3}
          orient="auto"
        >
          <path d="M0 0 L8 4 L0 8 z" fill="context-stroke" />
        </marker>
      </defs>
      {hops.map((hop) => {
        const link = survey.links.get(`${hop.from} ${hop.to}`);
        const { line, mx, my } = path(hop);
        return (
          <g key={`${hop.from}${hop.to}${hop.ring}`}>
            <path
              d={line}
              fill="none"
              stroke={colorAt(hop.ring)}
              stroke-width={few ? 2 : 1.2}
              stroke-dasharray={link?.degraded ? "3 4" : undefined}
              marker-end="url(#arrow)"
            >
              <title>{`${name(hop.from)} → ${name(hop.to)}: ${link ? `${gbit(link.bandwidth ?? 0)} Gbit/s` : "not measured"}`}</title>
            </path>
            {few && link && hop.ring < 2 && (
              <text class="rate" x={mx} y={my} text-anchor="middle">
                {gbit(link.bandwidth ?? 0)}
              </text>
            )}
          </g>
        );
      })}
      {order.map((id) => {
        const [x, y] = place(id, kRadius);
        const [lx, ly] = place(id, kRadius + (few ? 16 : 12));
        const right = lx >= kSize / 2 - 1;
        const degrees = (Math.atan2(ly - kSize / 2, lx - kSize / 2) * 180) / Math.PI + (right ? 0 : 180);
        const anchor = few && (pair || Math.abs(lx - kSize / 2) < 12) ? "middle" : right ? "start" : "end";
        const turn = few ? undefined : `rotate(${degrees} ${lx} ${ly})`;
        return (
          <g key={id}>
            <circle class="node" cx={x} cy={y} r={few ? 6 : 3} />
            {order.length <= 64 && (
              <text class={few ? "" : "small"} x={lx} y={pair ? ly + 26 : ly + 4} text-anchor={anchor} transform={turn}>
                {name(id)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}
