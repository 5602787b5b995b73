// The unit of an expression, inferred from the units of its series, must be that of its panel.
import type { SyntaxNode } from '@lezer/common';
import { type Series, family, isForeign } from './catalogue.js';
import type { Use } from './model.js';
import { type Parsed, children, parse, syntaxError, textOf } from './promql.js';

// Powers of base units. `any`: a number that takes the other side's unit; seconds since 1970 are `epoch`.
type Unit = Record<string, number> | 'any';

const NONE: Unit = {};
const SERIES_UNITS: Record<string, Unit> = {
  none: NONE,
  ratio: NONE,
  money: NONE,
  seconds: { second: 1 },
  timestamp: { epoch: 1 },
  bytes: { byte: 1 },
  bytes_per_second: { byte: 1, second: -1 },
  joules: { joule: 1 },
  watts: { joule: 1, second: -1 },
  celsius: { celsius: 1 },
};
const PANEL_UNITS: Record<string, Unit> = {
  none: NONE,
  short: NONE,
  percentunit: NONE,
  'suffix:x': NONE,
  s: { second: 1 },
  bytes: { byte: 1 },
  Bps: { byte: 1, second: -1 },
  joule: { joule: 1 },
  watt: { joule: 1, second: -1 },
  celsius: { celsius: 1 },
  flops: { second: -1 },
  reqps: { second: -1 },
  cps: { second: -1 },
  'suffix: tok/s': { second: -1 },
  'suffix:/h': { second: -1 },
};
const OPERATIONS = new Set(['Add', 'Sub', 'Mul', 'Div', 'Mod', 'Eql', 'Neq', 'Gtr', 'Gte', 'Lss', 'Lte', 'And', 'Or', 'Unless']);
const PER_SECOND = new Set(['rate', 'irate', 'deriv']);
const ALWAYS_NONE = new Set(['count', 'count_over_time', 'absent', 'changes', 'resets', 'group']);

export class UnitError extends Error {}

function combined(left: Unit, right: Unit, sign: number): Unit {
  if (left === 'any' || right === 'any') {
    if (left === 'any' && right === 'any') return 'any';
    return left === 'any' ? combined(NONE, right, sign) : left;
  }
  const result: Record<string, number> = { ...left };
  for (const [base, power] of Object.entries(right)) {
    result[base] = (result[base] ?? 0) + sign * power;
    if (result[base] === 0) delete result[base];
  }
  return result;
}

export function show(unit: Unit): string {
  if (unit === 'any') return 'a number';
  const parts = Object.entries(unit).map(([base, power]) => (power === 1 ? base : `${base}^${power}`));
  return parts.join(' ') || 'no unit';
}

function same(left: Unit, right: Unit): boolean {
  if (left === 'any' || right === 'any') return true;
  return show(combined(left, right, -1)) === show(NONE);
}

function difference(left: Unit, right: Unit): Unit {
  const both = (unit: Unit) => unit !== 'any' && unit['epoch'] === 1;
  return both(left) && both(right) ? { second: 1 } : agreed(left, right, '-');
}

function agreed(left: Unit, right: Unit, operation: string): Unit {
  if (!same(left, right)) throw new UnitError(`${show(left)} ${operation} ${show(right)}`);
  return left === 'any' ? right : left;
}

class Inference {
  constructor(
    private readonly parsed: Parsed,
    private readonly known: Map<string, Series>,
  ) {}

  of(node: SyntaxNode): Unit {
    switch (node.name) {
      case 'NumberDurationLiteral':
      case 'NumberLiteral':
        return 'any';
      case 'VectorSelector':
        return this.ofSelector(node);
      case 'BinaryExpr':
        return this.ofBinary(node);
      case 'FunctionCall':
        return this.ofCall(node);
      case 'AggregateExpr':
        return this.ofAggregate(node);
      default:
        return this.ofOnlyChild(node);
    }
  }

  private ofOnlyChild(node: SyntaxNode): Unit {
    const inner = this.expressions(node);
    if (inner.length === 0) throw new UnitError(`no rule for ${node.name}`);
    return this.of(inner[0]!);
  }

  private expressions(node: SyntaxNode): SyntaxNode[] {
    const names = /^(NumberDurationLiteral|NumberLiteral|VectorSelector|BinaryExpr|FunctionCall|AggregateExpr|ParenExpr|MatrixSelector|OffsetExpr|SubqueryExpr|UnaryExpr|StringLiteral)$/;
    return children(node).filter((child) => names.test(child.name));
  }

  private ofSelector(node: SyntaxNode): Unit {
    const identifier = children(node).find((child) => child.name === 'Identifier');
    const name = identifier ? textOf(this.parsed, identifier) : '';
    if (isForeign(name)) return NONE;
    const series = family(name, this.known);
    if (!series) throw new UnitError(`${name} is not known`);
    return name.endsWith('_count') && series.type === 'histogram' ? NONE : SERIES_UNITS[series.unit]!;
  }

  private ofBinary(node: SyntaxNode): Unit {
    const [first, second] = this.expressions(node);
    const operation = children(node).find((child) => OPERATIONS.has(child.name))!.name;
    const left = this.of(first!);
    const right = this.of(second!);
    const isBool = children(node).some((child) => child.name === 'BoolModifier');
    if (isBool) return NONE;
    if (operation === 'Mul') return combined(left, right, 1);
    if (operation === 'Div') return combined(left, right, -1);
    if (operation === 'And' || operation === 'Unless') return left;
    if (operation === 'Sub') return difference(left, right);
    return agreed(left, right, operation);
  }

  private callArguments(node: SyntaxNode): SyntaxNode[] {
    const body = children(node).find((child) => child.name === 'FunctionCallBody');
    return body ? this.expressions(body) : [];
  }

  private ofCall(node: SyntaxNode): Unit {
    const name = textOf(this.parsed, node.firstChild!);
    if (name === 'time') return { epoch: 1 };
    if (ALWAYS_NONE.has(name)) return NONE;
    const inner = this.callArguments(node);
    if (name === 'vector') return 'any';
    if (name === 'histogram_quantile') return this.ofBuckets(inner[1]!);
    const unit = this.of(inner[0]!);
    return PER_SECOND.has(name) ? combined(unit, { second: 1 }, -1) : unit;
  }

  // A quantile has the unit of the histogram, whichever rates its buckets are.
  private ofBuckets(node: SyntaxNode): Unit {
    const found = [...textOf(this.parsed, node).matchAll(/(ringmaster_\w+)_bucket/g)].map((match) => match[1]!);
    const series = this.known.get(found[0] ?? '');
    if (!series) throw new UnitError(`histogram_quantile of ${found[0] ?? 'no histogram'}`);
    return SERIES_UNITS[series.unit]!;
  }

  private ofAggregate(node: SyntaxNode): Unit {
    const name = textOf(this.parsed, node.firstChild!);
    const inner = this.callArguments(node);
    return ALWAYS_NONE.has(name) ? NONE : this.of(inner[inner.length - 1]!);
  }
}

export function unitOf(expr: string, known: Map<string, Series>): Unit {
  const parsed = parse(expr);
  return new Inference(parsed, known).of(parsed.top);
}

// Heat maps count per bucket and say the buckets' unit.
function isBuckets(expr: string): boolean {
  return /^sum by \(le\) \(increase\(/.test(expr);
}

function fault(use: Use, known: Map<string, Series>): string | undefined {
  const wanted = PANEL_UNITS[use.unit!];
  if (!wanted) return `the unit ${use.unit} is not one of ${Object.keys(PANEL_UNITS).join(', ')}`;
  try {
    const expr = isBuckets(use.expr) ? `histogram_quantile(0.5, ${use.expr})` : use.expr;
    const found = unitOf(expr, known);
    return same(found, wanted) ? undefined : `the panel shows ${use.unit}; the expression has ${show(found)}`;
  } catch (error) {
    if (error instanceof UnitError) return `units do not agree: ${error.message}`;
    throw error;
  }
}

export function wrongUnits(uses: Use[], known: Map<string, Series>): string[] {
  return uses
    .filter((use) => use.unit !== undefined && !syntaxError(use.expr))
    .flatMap((use) => {
      const found = fault(use, known);
      return found ? [`${use.where}: ${found}`] : [];
    });
}

const SUFFIXES: [RegExp, string][] = [
  [/_bytes_per_second$/, 'bytes_per_second'],
  [/_timestamp_seconds$/, 'timestamp'],
  [/_seconds(_total)?$/, 'seconds'],
  [/_bytes(_total)?$/, 'bytes'],
  [/_joules(_total)?$/, 'joules'],
  [/_watts$/, 'watts'],
  [/_celsius$/, 'celsius'],
  [/_ratio$/, 'ratio'],
];

// A name says its unit, and a counter ends in _total.
export function wrongNames(known: Map<string, Series>): string[] {
  return [...known.values()].flatMap(({ name, type, unit }) => {
    const said = SUFFIXES.find(([suffix]) => suffix.test(name))?.[1];
    const faults = [];
    if (said !== undefined && said !== unit) faults.push(`docs/metrics.md: ${name} says ${said}, its unit is ${unit}`);
    if (said === undefined && !['none', 'money'].includes(unit)) faults.push(`docs/metrics.md: ${name} does not say its unit ${unit}`);
    if ((type === 'counter') !== name.endsWith('_total')) faults.push(`docs/metrics.md: ${name} is a ${type}`);
    return faults;
  });
}
