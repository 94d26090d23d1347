// The panel beside the picture: details of a box, findings, cost, values, changes, versions, a comparison, text.

import { breakable, button, element, table } from "./dom";
import type { Change, Comparison, CostTable, Details, Edits, Findings, Reach, Run, Text, Versions, Weight } from "./model";

/** What links in a panel do. */
export type Go = (level: number | undefined, item: number | undefined) => void;

function link(text: string, level: number | undefined, item: number | undefined, go: Go): Node {
  if (level === undefined || item === undefined) return breakable(text);
  const made = button("", () => go(level, item), { class: "link" });
  made.append(breakable(text));
  return made;
}

/** A panel without contents says what it is for. */
export function hint(title: string | undefined, text: string): Node[] {
  const parts = title === undefined ? [] : [element("h2", {}, title)];
  return [...parts, element("p", { class: "hint" }, text)];
}

export interface DetailEvents {
  go: Go;
  weight?: (input: number) => Promise<Weight>;
  path?: () => void;
  extract?: () => void;
  /** Leads to a node that computes a weight, or back to the node that uses it. */
  inside?: (index: number | undefined) => void;
}

export function details(found: Details, events: DetailEvents): Node[] {
  const parts: Node[] = [element("h2", {}, found.title)];
  if (found.of !== undefined) parts.push(element("p", {}, "computes a weight of ", button(found.of, () => events.inside?.(undefined), { class: "link", id: "user" })));
  const actions = element("div", { class: "actions" });
  if (events.path) actions.append(button("Path to…", events.path, { id: "path", title: "Shows the nodes between this box and another one; or press Shift and click the other one" }));
  if (events.extract) actions.append(button("Keep only this", events.extract, { id: "extract", title: "Makes the nodes of this box the model; can be undone" }));
  if (actions.childElementCount > 0) parts.push(actions);
  if (found.rows.length > 0) parts.push(table(found.rows));
  // A box of nodes says first what is in it.
  const lists = [...found.lists].sort((a, b) => Number(b.title === "Operators") - Number(a.title === "Operators"));
  for (const list of lists) {
    const rows = list.rows.map((row, at) => {
      if (list.folded) return row.map((cell) => button(cell, () => events.inside?.(at), { class: "link" }));
      const place = list.places?.[at];
      return row.map((cell, index) => {
        if (place && index === list.link) return link(cell, place[0], place[1], events.go);
        return index > 0 && cell.includes("\n") ? element("pre", {}, cell) : cell;
      });
    });
    parts.push(element("h3", {}, list.title), table(rows));
  }
  for (const weight of found.weights ?? []) {
    const place = element("div", { class: "weight" });
    const load = async (): Promise<void> => {
      try {
        const read = await events.weight?.(weight.input);
        if (read) place.replaceChildren(...statistics(read));
      } catch (error) {
        place.replaceChildren(element("p", { class: "warning" }, error instanceof Error ? error.message : String(error)));
      }
    };
    const show = button("Statistics", () => void load(), { class: "statistics", "aria-label": `Statistics of ${weight.name}` });
    place.append(show);
    parts.push(element("h3", {}, `Weight ${weight.name} ${weight.type}`), place);
  }
  if (found.documentation) {
    const { text, address } = found.documentation;
    const anchor = element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
    parts.push(element("h3", {}, "Definition"), element("p", {}, anchor, " (opens onnx.ai)"));
  }
  return parts;
}

function statistics(found: Weight): Node[] {
  const parts = contents(found);
  // What the node gets comes first.
  if (found.stored) parts.push(element("h4", {}, `Stored as ${found.stored.name}`), ...contents(found.stored));
  return parts;
}

function contents(found: Weight): Node[] {
  const parts: Node[] = [table(found.rows, undefined, [1])];
  if (found.histogram) {
    const most = Math.max(...found.histogram, 1);
    const bars = found.histogram.map((count) => {
      const bar = element("div", { title: String(count) });
      bar.style.height = `${count > 0 ? Math.max(2, (100 * count) / most) : 0}%`;
      return bar;
    });
    parts.push(element("div", { class: "histogram", role: "img", "aria-label": `Histogram: ${found.histogram.join(", ")}` }, ...bars));
  }
  if (found.elements.length > 0) parts.push(element("p", { class: "elements" }, `${found.elements.join(", ")} …`));
  return parts;
}

/** Nodes that have the same reason and are listed at once. */
const FEW_NODES = 3;

/** Values that are listed at once. */
const MANY_VALUES = 300;

/** Different edits that are one table. */
const FEW_EDITS = 4;

/** `1 runs` as readers write it. */
export const singular = (text: string): string => text.replace(/\b1 (edit|run|attempt|node|input|output|value|repair)s\b/g, "1 $1");

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

export function findings(found: Findings, go: Go, repair?: () => void): Node[] {
  const [errors, warnings, notes] = found.counts;
  const parts: Node[] = [
    element("h2", {}, "Findings"),
    element("p", {}, [counted(errors, "error"), counted(warnings, "warning"), counted(notes, "note")].join(", ")),
  ];
  if (found.findings.length === 0) parts.push(element("p", { class: "hint" }, "The checker and shape inference report nothing."));
  if (found.repairable > 1 && repair) parts.push(button(`Apply all ${found.repairable} repairs`, repair, { id: "repair" }));
  for (const finding of found.findings) {
    const entry = element(
      "div",
      { class: "finding" },
      element("div", { class: finding.severity }, `${finding.severity} ${finding.rule}`),
      element("div", {}, finding.message),
      element("div", {}, link(finding.where, finding.level, finding.item, go)),
    );
    if (finding.help) entry.append(element("div", {}, `help: ${finding.help}`));
    if (finding.canRepair && repair) entry.append(button("Apply", repair, { class: "apply", "aria-label": `Apply the repair of ${finding.where}` }));
    parts.push(entry);
  }
  return parts;
}

function sizesInput(variables: string[], sizes: string, submit: (sizes: string) => void): HTMLInputElement {
  const input = element("input", {
    id: "sizes",
    type: "text",
    "aria-label": "Sizes of dimension variables",
    placeholder: variables.length > 0 ? example(variables) : "no variables",
    value: sizes,
  });
  input.addEventListener("change", () => submit(input.value));
  return input;
}

const example = (variables: string[]): string => variables.map((name) => `${name}=1`).join(" ");

/** Says next to the field of sizes why they were not taken. */
function refused(input: HTMLInputElement, problem: string | undefined, variables: string[]): Node[] {
  if (problem === undefined) return [];
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", "sizes-problem");
  const advice = input.value.trim() === "" ? "" : variables.length > 0 ? ` Sizes are written like ${example(variables)}.` : " The inputs have no variables: leave the field empty.";
  return [element("p", { id: "sizes-problem", class: "error", role: "alert" }, `${problem}.`.replace(/([.!?])\.$/, "$1") + advice)];
}

export function cost(found: CostTable, sizes: string, problem: string | undefined, go: Go, count: (sizes: string) => void): Node[] {
  let last = sizes;
  // Leaving the field and the button are one request.
  const submit = (sizes: string): void => {
    if (sizes !== last) count((last = sizes));
  };
  const input = sizesInput(found.variables, sizes, submit);
  const rows = found.rows.map((row) => [
    element("div", {}, link(row.op, row.level, row.item, go), element("div", { class: "name" }, breakable(row.name))),
    row.operations,
    row.part > 0 ? `${(row.part * 100).toFixed(1)}\u00a0%` : "",
  ]);
  return [
    element("h2", {}, "Cost"),
    element("p", { class: "row" }, "Sizes: ", input, " ", button("Count", () => submit(input.value))),
    ...refused(input, problem, found.variables),
    element("div", { class: "legend", id: "cost-legend" }, element("span", {}, "no operations"), element("span", { class: "ramp" }), element("span", {}, "most of the boxes shown")),
    table(found.totals, undefined, [1]),
    element("h3", {}, "Most expensive nodes"),
    table(rows, ["node", "operations", "part"], [1, 2]),
  ];
}

/** Two numbers, between which a line ends, but not in them. */
function range(text: string): Node {
  const [least, ...greatest] = text.split(" … ");
  if (least === undefined || greatest.length !== 1) return breakable(text);
  const whole = (part: string): Node => element("span", { class: "whole" }, part);
  return element("div", {}, whole(`${least} …`), " ", whole(greatest.join()));
}

export interface RunEvents {
  run(sizes: string, seed: number): void;
  toggle(isShown: boolean): void;
}

export function values(found: Run | undefined, state: { sizes: string; seed: number; isShown: boolean; variables: string[]; problem?: string | undefined }, go: Go, events: RunEvents): Node[] {
  const seed = element("input", { id: "seed", type: "number", min: "0", "aria-label": "Seed of the inputs", value: String(state.seed) });
  const input = sizesInput(found?.variables ?? state.variables, state.sizes, () => undefined);
  const run = (): void => events.run(input.value, Math.max(0, Math.floor(Number(seed.value) || 0)));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") run();
  });
  const parts: Node[] = [
    element("h2", {}, "Values of a run"),
    element("p", { class: "hint" }, "The model runs on generated inputs, in the ranges that its operators allow."),
    element("p", { class: "row" }, "Sizes: ", input, " seed: ", seed, " ", button("Run", run, { id: "run", class: "primary" })),
    ...refused(input, state.problem, found?.variables ?? state.variables),
  ];
  if (!found) return parts;
  const check = element("input", { id: "values-shown", type: "checkbox" });
  check.checked = state.isShown;
  check.addEventListener("change", () => events.toggle(check.checked));
  parts.push(element("label", {}, check, " show values at the edges"));
  if (found.failure) {
    const { failure } = found;
    parts.push(
      element(
        "div",
        { class: "finding", id: "failure" },
        element("div", { class: "error" }, "The run failed"),
        element("div", {}, failure.message),
        element("div", {}, link(failure.node ?? "", failure.level, failure.item, go)),
      ),
    );
  }
  const sizes = found.sizes.map(([name, size]) => `${name}=${size}`).join(" ");
  const bad = found.rows.filter((row) => row.bad).length;
  const summary = `${found.values} values${sizes ? `, ${sizes}` : ""}${bad > 0 ? `, ${bad} with NaN or infinity` : ""}`;
  const rows = found.rows.map((row) => {
    const name = element("div", row.bad ? { class: "error" } : {}, link(row.name, row.level, row.item, go), element("div", { class: "name" }, row.type));
    return [name, range(row.range), row.mean ?? ""];
  });
  const values = table(rows, ["value", "smallest … greatest", "mean"], [2], MANY_VALUES);
  values.id = "values";
  parts.push(element("p", {}, summary), values);
  return parts;
}

/** The changes that were made, and what can be done with them. */
export function changes(title: string, done: Edits, actions: HTMLElement[]): Node[] {
  const parts: Node[] = [element("h2", {}, title), element("p", { id: "summary" }, done.summary)];
  if (actions.length > 0 && done.edits.length > 0) parts.push(element("div", { class: "actions" }, ...actions));
  if (done.edits.length > 0) parts.push(element("h3", {}, "Edits"), ...editsByRule(done.edits));
  if (done.more) parts.push(element("p", { class: "hint" }, `${done.more} edits more are not listed. The report of \`onnx simplify\` has all of them.`));
  return parts;
}

type Edit = Edits["edits"][number];

/** The rule of an edit, and how often it was applied. */
function ruleOf(edit: Edit): { rule: string; count: number } {
  const [, rule, count] = /^(.*?)(?: \((\d+) edits\))?$/s.exec(edit.what) ?? [];
  return { rule: rule ?? edit.what, count: Number(count ?? 1) };
}

/** The later, the less an edit changes: rules that may change results by rounding, other rules, and passes that only remove. */
const placeOf = (rule: string, { proof }: Edit): number => (/^(no|unique)-/.test(rule) ? 2 : /^exact\b/.test(proof) ? 1 : 0);

/** The edits of each rule together; rules that replace computations first. The rows are made when a rule is opened. */
function editsByRule(edits: Edit[]): Node[] {
  const hasProof = edits.some((edit) => edit.proof);
  const list = (edits: Edit[], isNamed: boolean): HTMLElement =>
    table(
      edits.map((edit) => [...(isNamed ? [edit.what] : []), edit.nodes, ...(hasProof ? [singular(edit.proof)] : [])]),
      [...(isNamed ? ["edit"] : []), "nodes", ...(hasProof ? ["why it is right"] : [])],
    );
  const rules = new Map<string, { count: number; edits: Edit[] }>();
  for (const edit of edits) {
    const { rule, count } = ruleOf(edit);
    const group = rules.get(rule) ?? { count: 0, edits: [] };
    group.count += count;
    group.edits.push(edit);
    rules.set(rule, group);
  }
  if (rules.size === edits.length && rules.size < FEW_EDITS) return [list(edits, true)];
  const order = [...rules].sort(([a, one], [b, other]) => placeOf(a, one.edits[0] as Edit) - placeOf(b, other.edits[0] as Edit) || other.count - one.count || a.localeCompare(b, "en"));
  return order.map(([rule, { count, edits }]) => {
    const group = element("details", { class: "rule" }, element("summary", {}, element("span", {}, rule), element("span", { class: "count" }, counted(count, "edit"))));
    group.addEventListener("toggle", () => {
      if (group.open && group.childElementCount === 1) group.append(list(edits, edits.some(({ what }) => what !== rule)));
    });
    return group;
  });
}

export function simplify(isProved: boolean, start: (isProved: boolean) => void): Node[] {
  const check = element("input", { id: "prove", type: "checkbox" });
  check.checked = isProved;
  return [
    element("h2", {}, "Simplify"),
    element("p", { class: "hint" }, "Folds constants, removes what has no effect, and rewrites to fewer and cheaper nodes. The model computes the same. Nothing is written until you save."),
    element("p", {}, element("label", {}, check, " compare the values before and after each edit")),
    button("Simplify", () => start(check.checked), { id: "simplify", class: "primary" }),
  ];
}

/** The reasons why nodes prevent a version, each with its nodes. */
function refusals(found: Reach["refusals"], go: Go): Node[] {
  const reasons = new Map<string, Reach["refusals"]>();
  for (const refusal of found) {
    const reason = `${sentence(refusal.reason)} ${sentence(refusal.help)}`;
    reasons.set(reason, [...(reasons.get(reason) ?? []), refusal]);
  }
  return [...reasons].map(([reason, nodes]) => {
    const links = nodes.map(({ op, level, item }) => element("div", {}, link(op, level, item, go)));
    const entry = element("div", { class: "finding" }, element("div", {}, reason));
    if (nodes.length <= FEW_NODES) entry.append(...links);
    else {
      const operators = [...new Set(nodes.map(({ op }) => op))].join(", ");
      entry.append(element("details", {}, element("summary", {}, `${nodes.length} nodes: ${operators}`), ...links));
    }
    return entry;
  });
}

const sentence = (text: string): string => text && `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

export function versions(found: Versions, go: Go, convert: (version: number) => void): Node[] {
  const parts: Node[] = [element("h2", {}, "Versions"), element("p", {}, `The model uses operator set ${found.current}.`)];
  const reach = (name: string, reach: Reach): void => {
    parts.push(element("h3", {}, `${name}: ${reach.version}`));
    if (reach.version !== found.current) {
      const nodes = reach.changed === 1 ? "1 node changes" : `${reach.changed} nodes change`;
      parts.push(element("p", { class: "row" }, `${nodes}. `, button(`Convert to ${reach.version}`, () => convert(reach.version))));
    }
    if (reach.refusals.length === 0) return;
    const nodes = reach.prevented === 1 ? "1 node prevents" : `${reach.prevented} nodes prevent`;
    parts.push(element("p", {}, `${nodes} version ${reach.version + (name === "Oldest" ? -1 : 1)}:`));
    parts.push(...refusals(reach.refusals, go));
    const more = reach.prevented - reach.refusals.length;
    if (more > 0) parts.push(element("p", { class: "hint" }, `${counted(more, "node")} more ${more === 1 ? "is" : "are"} not listed.`));
  };
  reach("Oldest", found.oldest);
  reach("Newest", found.newest);
  const input = element("input", { id: "version", type: "number", min: String(found.oldest.version), max: String(found.newest.version), "aria-label": "Version", value: String(found.current) });
  parts.push(element("h3", {}, "Another version"), element("p", { class: "row" }, input, " ", button("Convert", () => convert(Number(input.value)), { id: "convert" })));
  return parts;
}

export function comparison(found: Comparison, go: (change: Change) => void, actions: HTMLElement[]): Node[] {
  const [added, removed, changed] = found.counts;
  const parts: Node[] = [
    element("h2", {}, "Comparison"),
    element("p", { id: "summary" }, `${added} added, ${removed} removed, ${changed} changed; ${found.same} nodes correspond`),
    element("div", { class: "actions" }, ...actions),
  ];
  if (found.unread > 0) parts.push(element("p", { class: "warning" }, `${found.unread} tensors could not be read, and were not compared`));
  if (found.changes.length === 0) parts.push(element("p", { class: "hint" }, "The models are the same."));
  const sign = { added: "+", removed: "−", changed: "~" };
  for (const change of found.changes) {
    const text = `${sign[change.kind]} ${change.element} ${change.text || (change.where ?? "")}`;
    const hasPlace = change.after !== undefined || change.before !== undefined;
    const title = hasPlace ? button(text, () => go(change), { class: "link" }) : element("span", {}, text);
    const entry = element("div", { class: `finding ${change.kind}` }, title);
    for (const aspect of change.aspects) entry.append(element("div", { class: "aspect" }, aspect));
    parts.push(entry);
  }
  if (found.more > 0) parts.push(element("p", {}, `and ${found.more} more`));
  return parts;
}

/** The ONNX text; a click on a line selects its node. */
export function text(found: Text, isSelected: (level: number, item: number) => boolean, go: Go): Node[] {
  const pre = element("pre", { tabindex: "0", "aria-label": "ONNX text", id: "text" });
  const lines = found.text.split("\n");
  let at = 0;
  let chosen: HTMLElement | undefined;
  for (const [index, [line, level, item]] of found.places.entries()) {
    if (line > at) pre.append(lines.slice(at, line).join("\n") + "\n");
    const next = found.places[index + 1]?.[0];
    // The last node ends with the text, or before the end of the graph.
    const isEnd = (text: string): boolean => text.startsWith("}");
    const end = next ?? (lines.findIndex((text, at) => at > line && isEnd(text)) + 1 || lines.length + 1) - 1;
    const part = element("span", { class: "node-text" }, lines.slice(line, end).join("\n") + "\n");
    part.addEventListener("click", () => go(level, item));
    if (isSelected(level, item)) {
      part.classList.add("chosen");
      chosen ??= part;
    }
    pre.append(part);
    at = end;
  }
  pre.append(lines.slice(at).join("\n"));
  if (chosen) {
    const shown = chosen;
    requestAnimationFrame(() => shown.scrollIntoView({ block: "center" }));
  }
  return [element("h2", {}, "Text"), pre];
}
