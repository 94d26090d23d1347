// Elements. Texts are always text nodes, so that a name in a model is never markup.

type Child = Node | string | undefined;

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child): child is Node | string => child !== undefined));
  return made;
}

export function button(text: string, onClick: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", onClick);
  return made;
}

/** Calls `take` with the files that are chosen. The same ones can be chosen again. */
export function picks(input: HTMLInputElement, take: (files: File[]) => void): void {
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    input.value = "";
    if (files.length > 0) take(files);
  });
}

/** Texts from this length on are broken where a reader expects it. */
const LONG = 16;

/** A text that breaks after slashes, dots and operators of formulas; what is copied has no marks. */
export function breakable(text: string): Node {
  if (text.length < LONG) return document.createTextNode(text);
  const made = document.createDocumentFragment();
  for (const part of text.split(/(?<=[/._*+,)×])/)) made.append(part, element("wbr"));
  return made;
}

/**
 * A table. With a head, a click on a column sorts by it. Of many rows the first `most` are shown, and the others on request, or when
 * they are sorted.
 */
export function table(rows: (string | Node)[][], head?: string[], numbers: number[] = [], most = Infinity): HTMLTableElement {
  const kind = (index: number): Record<string, string> => (numbers.includes(index) ? { class: "number" } : {});
  const made = element("table");
  const body = element("tbody");
  const show = (rows: (string | Node)[][]): void => {
    for (const row of rows) {
      body.append(element("tr", {}, ...row.map((cell, index) => element("td", kind(index), typeof cell === "string" ? breakable(cell) : cell))));
    }
  };
  show(rows.slice(0, most));
  let rest = rows.slice(most);
  const foot = element("tfoot");
  const complete = (): void => {
    foot.remove();
    show(rest);
    rest = [];
  };
  if (head) {
    const cells = head.map((text, index) => {
      const cell = element("th", { scope: "col", ...kind(index) });
      const sorted = (): void => {
        complete();
        sort(body, cell, index, numbers.includes(index));
      };
      cell.append(button(text, sorted, { class: "sort" }));
      return cell;
    });
    made.append(element("thead", {}, element("tr", {}, ...cells)));
  }
  made.append(body);
  if (rest.length > 0) {
    foot.append(element("tr", {}, element("td", { colspan: String(rows[0]?.length ?? 1) }, button(`Show ${rest.length} more`, complete, { class: "more" }))));
    made.append(foot);
  }
  return made;
}

/** Sorts the rows by a column: numbers from the largest, texts from the first; once more in the other direction. */
function sort(body: HTMLElement, head: HTMLElement, column: number, isNumber: boolean): void {
  const first = isNumber ? "descending" : "ascending";
  const order = head.getAttribute("aria-sort") === first ? (isNumber ? "ascending" : "descending") : first;
  for (const other of head.parentElement?.children ?? []) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const text = (row: Element): string => row.children[column]?.textContent ?? "";
  const number = (row: Element): number => {
    const found = /^-?[\d.]+(e[+-]?\d+)?/i.exec(text(row).replace(/[\s\u202f]/g, ""));
    return found ? Number(found[0]) : -Infinity;
  };
  const compare = isNumber ? (a: Element, b: Element) => number(a) - number(b) : (a: Element, b: Element) => text(a).localeCompare(text(b), "en", { numeric: true });
  const sign = order === "ascending" ? 1 : -1;
  body.append(...[...body.children].sort((a, b) => sign * compare(a, b)));
}

/** Gives a file to the user. */
export function download(name: string, contents: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([contents], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
