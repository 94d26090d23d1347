// The panel beside the picture: details of a box, diagnostics, cost, changes, text.

import { button, element, table } from "./dom";
import type { CostTable, Details, Edits, Findings } from "./model";

/** What links in a panel do. */
export type Go = (level: number | undefined, item: number | undefined) => void;

function link(text: string, level: number | undefined, item: number | undefined, go: Go): Node {
  if (level === undefined || item === undefined) return document.createTextNode(text);
  return button(text, () => go(level, item), { class: "link" });
}

export function details(found: Details): Node[] {
  const parts: Node[] = [element("h2", {}, found.title)];
  if (found.rows.length > 0) parts.push(table(found.rows));
  for (const list of found.lists) {
    parts.push(element("h3", {}, list.title), table(list.rows));
  }
  return parts;
}

export function findings(found: Findings, go: Go, repair: () => void): Node[] {
  const [errors, warnings, notes] = found.counts;
  const parts: Node[] = [
    element("h2", {}, "Diagnostics"),
    element("p", {}, `${errors} errors, ${warnings} warnings, ${notes} notes`),
  ];
  if (found.repairable > 0) parts.push(button(`Repair ${found.repairable}`, repair, { id: "repair" }));
  for (const finding of found.findings) {
    const entry = element(
      "div",
      { class: "finding" },
      element("div", { class: finding.severity }, `${finding.severity} ${finding.rule}${finding.canRepair ? " · can be repaired" : ""}`),
      element("div", {}, finding.message),
      element("div", {}, link(finding.where, finding.level, finding.item, go)),
    );
    if (finding.help) entry.append(element("div", {}, `help: ${finding.help}`));
    parts.push(entry);
  }
  return parts;
}

export function cost(found: CostTable, sizes: string, go: Go, count: (sizes: string) => void): Node[] {
  const input = element("input", {
    id: "sizes",
    type: "text",
    "aria-label": "Sizes of dimension variables",
    placeholder: found.variables.length > 0 ? found.variables.map((name) => `${name}=1`).join(" ") : "no variables",
    value: sizes,
  });
  const submit = (): void => count(input.value);
  input.addEventListener("change", submit);
  const rows = found.rows.map((row) => [
    link(row.op, row.level, row.item, go),
    row.name,
    row.operations,
    row.part > 0 ? `${(row.part * 100).toFixed(1)} %` : "",
  ]);
  return [
    element("h2", {}, "Cost"),
    element("p", {}, "Sizes: ", input, " ", button("Count", submit)),
    table(found.totals, undefined, [1]),
    element("h3", {}, "Most expensive nodes"),
    table(rows, ["operator", "node", "operations", "part"], [2, 3]),
  ];
}

export function changes(title: string, done: Edits): Node[] {
  const parts: Node[] = [element("h2", {}, title), element("p", {}, done.summary)];
  if (done.edits.length > 0) {
    parts.push(element("h3", {}, "Edits"), table(done.edits.map((text) => [text])));
  }
  return parts;
}

export function text(found: string): Node[] {
  return [element("h2", {}, "Text"), element("pre", { tabindex: "0", "aria-label": "ONNX text" }, found)];
}
