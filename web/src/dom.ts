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

export function table(rows: (string | Node)[][], head?: string[], numbers: number[] = []): HTMLTableElement {
  const kind = (index: number): Record<string, string> => (numbers.includes(index) ? { class: "number" } : {});
  const made = element("table");
  if (head) {
    const cells = head.map((text, index) => element("th", { scope: "col", ...kind(index) }, text));
    made.append(element("thead", {}, element("tr", {}, ...cells)));
  }
  const body = element("tbody");
  for (const row of rows) {
    body.append(element("tr", {}, ...row.map((cell, index) => element("td", kind(index), cell))));
  }
  made.append(body);
  return made;
}
