// Generated models: transformers as exporters write them, with names of scopes, constants as nodes, and sizes that are
// computed from shapes. Their weights are small, since pictures do not depend on them.

/** Nodes of a layer. */
export const LAYER = 109;

/** The ONNX text of a transformer with as many layers. */
export function transformer(layers) {
  const lines = [];
  let scope = "";
  const counts = new Map();
  const node = (op, inputs, attributes = "") => {
    const path = `${scope}/${op}`;
    const count = counts.get(path) ?? 0;
    counts.set(path, count + 1);
    const name = count === 0 ? path : `${path}_${count}`;
    const value = `${name}_output_0`;
    lines.push(`  ["${name}"] "${value}" = ${op} ${attributes ? `<${attributes}> ` : ""}(${inputs.map((input) => `"${input}"`).join(", ")})`);
    return value;
  };
  const scalar = (value) => node("Constant", [], `value_float = ${value}`);
  const index = (value) => node("Constant", [], `value_int = ${value}`);
  const indices = (value) => node("Constant", [], `value_ints = [${value}]`);
  const linear = (input, weight, bias) => node("Add", [bias, node("MatMul", [input, weight])]);
  const norm = (input) => {
    const centered = node("Sub", [input, node("ReduceMean", [input], "axes = [-1]")]);
    const variance = node("ReduceMean", [node("Pow", [centered, scalar("2.0")])], "axes = [-1]");
    const deviation = node("Sqrt", [node("Add", [variance, scalar("0.00001")])]);
    return node("Add", [node("Mul", [node("Div", [centered, deviation]), "scale"]), "bias"]);
  };
  const size = (input, axis) => node("Unsqueeze", [node("Gather", [node("Shape", [input]), index(axis)]), indices(0)]);
  const heads = (input) => {
    const shape = node("Concat", [size(input, 0), size(input, 1), indices(2), indices(4)], "axis = 0");
    return node("Transpose", [node("Reshape", [input, shape])], "perm = [0, 2, 1, 3]");
  };
  const within = (name, work) => {
    const outer = scope;
    scope = `${scope}/${name}`;
    const result = work();
    scope = outer;
    return result;
  };
  const attention = (input) => {
    const [query, key, value] = ["q", "k", "v"].map((name) => heads(within(`${name}_proj`, () => linear(input, "square", "bias"))));
    const scores = node("Div", [node("MatMul", [query, node("Transpose", [key], "perm = [0, 1, 3, 2]")]), scalar("2.0")]);
    const mixed = node("Transpose", [node("MatMul", [node("Softmax", [scores], "axis = -1"), value])], "perm = [0, 2, 1, 3]");
    const joined = node("Reshape", [mixed, node("Concat", [size(mixed, 0), size(mixed, 1), indices(8)], "axis = 0")]);
    return within("out_proj", () => linear(joined, "square", "bias"));
  };
  const feedForward = (input) => {
    const wide = within("fc1", () => linear(input, "widen", "wide_bias"));
    const active = within("act", () => node("Mul", [node("Mul", [wide, node("Add", [node("Erf", [node("Div", [wide, scalar("1.4142135")])]), scalar("1.0")])]), scalar("0.5")]));
    return within("fc2", () => linear(active, "narrow", "bias"));
  };
  let hidden = "x";
  for (let layer = 0; layer < layers; layer += 1) {
    hidden = within(`model/layers.${layer}`, () => {
      const attended = node("Add", [hidden, within("self_attn", () => attention(within("norm", () => norm(hidden))))]);
      return node("Add", [attended, within("mlp", () => feedForward(within("norm", () => norm(attended))))]);
    });
  }
  lines.push(`  y = Identity ("${hidden}")`);
  const values = (count) => Array.from({ length: count }, (_, at) => ((at * 7) % 11) / 16).join(", ");
  const weights = [["square", "8, 8", 64], ["widen", "8, 32", 256], ["narrow", "32, 8", 256], ["scale", "8", 8], ["bias", "8", 8], ["wide_bias", "32", 32]];
  const initializers = weights.map(([name, shape, count]) => `float[${shape}] ${name} = {${values(count)}}`).join(", ");
  return `<ir_version: 8, opset_import: ["": 17], producer_name: "generated">
transformer (float[batch, sequence, 8] x) => (float[batch, sequence, 8] y) <${initializers}> {
${lines.join("\n")}
}
`;
}
