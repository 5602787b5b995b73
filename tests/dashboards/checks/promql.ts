// PromQL as a syntax tree.
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

// Grafana replaces these before Prometheus sees them.
export function substituted(expr: string): string {
  return expr
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$__interval', '15s')
    .replaceAll(/"\$[a-z]+"/g, '".*"');
}

export interface Parsed {
  text: string;
  top: SyntaxNode;
}

export function parse(expr: string): Parsed {
  const text = substituted(expr);
  return { text, top: parser.parse(text).topNode };
}

export function textOf(parsed: Parsed, node: SyntaxNode): string {
  return parsed.text.slice(node.from, node.to);
}

function walk(node: SyntaxNode, visit: (node: SyntaxNode) => void): void {
  visit(node);
  for (let child = node.firstChild; child; child = child.nextSibling) walk(child, visit);
}

export function nodes(parsed: Parsed, name: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  walk(parsed.top, (node) => {
    if (node.name === name) found.push(node);
  });
  return found;
}

export function children(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) found.push(child);
  return found;
}

export function syntaxError(expr: string): string | undefined {
  const parsed = parse(expr);
  const wrong = nodes(parsed, '⚠')[0];
  return wrong && `syntax error at ${JSON.stringify(parsed.text.slice(wrong.from, wrong.from + 20))}`;
}

// Names of series, as written: with _bucket, _sum and _count.
export function metricNames(expr: string): string[] {
  const parsed = parse(expr);
  const names = nodes(parsed, 'VectorSelector').flatMap((node) => {
    const name = children(node).find((child) => child.name === 'Identifier');
    return name ? [textOf(parsed, name)] : [];
  });
  return [...new Set(names)];
}

// Name and arguments of each call.
export function calls(parsed: Parsed): { name: string; node: SyntaxNode }[] {
  return nodes(parsed, 'FunctionCall').map((node) => ({ name: textOf(parsed, node.firstChild!), node }));
}
