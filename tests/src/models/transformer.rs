//! A transformer encoder as an exporter writes it.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::write::{FLOAT, Graph, INT64, Size, Ty, int_attribute, ints_attribute, tensor_attribute};

/// The number of nodes in each layer.
pub const NODES_PER_LAYER: usize = 113;

const BATCH: Size = Size::Var("batch");
const SEQUENCE: Size = Size::Var("sequence");

/// A transformer encoder with normalization, attention and activation taken apart into single operators, shapes computed
/// by chains of small nodes, and every constant a node: what exporters make of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transformer {
    /// The number of layers; each has [`NODES_PER_LAYER`] nodes and 16 initializers.
    pub layers: usize,
    /// The number of attention heads.
    pub heads: usize,
    /// The size of each head; the hidden size is `heads * head_size`, the inner size four times that.
    pub head_size: usize,
    /// Whether `value_info` describes every value between nodes.
    pub value_info: bool,
}

impl Transformer {
    /// A transformer of `layers` layers with tiny weights and without `value_info`.
    #[must_use]
    pub const fn with_layers(layers: usize) -> Self {
        Self { layers, heads: 2, head_size: 4, value_info: false }
    }

    /// The smallest transformer with at least `nodes` nodes, with tiny weights and without `value_info`.
    #[must_use]
    pub const fn with_nodes(nodes: usize) -> Self {
        Self::with_layers(nodes.div_ceil(NODES_PER_LAYER))
    }

    /// The model.
    #[must_use]
    pub fn build(&self) -> Bytes {
        let mut layer = Layer::new(self);
        let hidden = [BATCH, SEQUENCE, Size::Known(layer.hidden)];
        let mut last = "input".to_owned();
        layer.graph.input(&last, Ty::new(FLOAT, &hidden));
        let mask = [BATCH, Size::Known(1), Size::Known(1), SEQUENCE];
        layer.graph.input("attention_mask", Ty::new(INT64, &mask));
        for index in 0..self.layers {
            layer.path = format!("encoder.layer.{index}");
            last = layer.write(&last);
        }
        layer.graph.output(&last, Ty::new(FLOAT, &hidden));
        layer.graph.model(&[("", 17)], |_| ()).into_bytes()
    }
}

/// What the layers are written with.
struct Layer {
    graph: Graph,
    heads: i64,
    head_size: i64,
    hidden: i64,
    value_info: bool,
    /// The layer, as in the names of its weights.
    path: String,
    /// How often an operator occurred in a module of the layer; exporters number them.
    seen: BTreeMap<String, usize>,
    matrices: usize,
    /// Zeros for the weights.
    zeros: Bytes,
}

impl Layer {
    fn new(options: &Transformer) -> Self {
        let (heads, head_size) = (options.heads as i64, options.head_size as i64);
        let hidden = options.heads * options.head_size;
        Self {
            graph: Graph::with_capacity(options.layers * NODES_PER_LAYER),
            heads,
            head_size,
            hidden: hidden as i64,
            value_info: options.value_info,
            path: String::new(),
            seen: BTreeMap::new(),
            matrices: 0,
            zeros: vec![0; 4 * hidden * 4 * hidden].into(),
        }
    }

    /// Writes one layer; returns the name of what it makes.
    fn write(&mut self, input: &str) -> String {
        self.seen.clear();
        let attention = self.attention(input);
        let output = self.hidden_op("attention/output", "Add", &[&attention, input]);
        let normal = self.normalize("attention/output/LayerNorm", &output);
        let inner = self.feed_forward(&normal);
        let output = self.hidden_op("output", "Add", &[&inner, &normal]);
        self.normalize("output/LayerNorm", &output)
    }

    fn attention(&mut self, input: &str) -> String {
        const SELF: &str = "attention/self";
        let scores = [BATCH, Size::Known(self.heads), SEQUENCE, SEQUENCE];
        let scores = Ty::new(FLOAT, &scores);
        let query = self.project("attention/self/query", input);
        let query = self.split_heads(&query);
        let key = self.project("attention/self/key", input);
        let key = self.split_heads(&key);
        let value = self.project("attention/self/value", input);
        let value = self.split_heads(&value);
        let turned = [BATCH, Size::Known(self.heads), Size::Known(self.head_size), SEQUENCE];
        let key = self.transpose(&key, &[0, 1, 3, 2], &turned);
        let product = self.op(SELF, "MatMul", &[&query, &key], scores);
        let divisor = self.float(SELF, 2.0);
        let scaled = self.op(SELF, "Div", &[&product, &divisor], scores);
        let mask = [BATCH, Size::Known(1), Size::Known(1), SEQUENCE];
        let mask = Ty::new(FLOAT, &mask);
        let float_mask = self.op_with(SELF, "Cast", &["attention_mask"], mask, |node| {
            int_attribute(node, "to", i64::from(FLOAT))
        });
        let least = self.float(SELF, -10000.0);
        let bias = self.op(SELF, "Mul", &[&float_mask, &least], mask);
        let masked = self.op(SELF, "Add", &[&scaled, &bias], scores);
        let weights =
            self.op_with(SELF, "Softmax", &[&masked], scores, |node| int_attribute(node, "axis", -1));
        let parts = [BATCH, Size::Known(self.heads), SEQUENCE, Size::Known(self.head_size)];
        let context = self.op(SELF, "MatMul", &[&weights, &value], Ty::new(FLOAT, &parts));
        let parts = [BATCH, SEQUENCE, Size::Known(self.heads), Size::Known(self.head_size)];
        let context = self.transpose(&context, &[0, 2, 1, 3], &parts);
        let shape = self.shape(&context, &[self.hidden]);
        let context = self.hidden_op(SELF, "Reshape", &[&context, &shape]);
        self.project("attention/output/dense", &context)
    }

    fn feed_forward(&mut self, input: &str) -> String {
        const ACTIVATION: &str = "intermediate/intermediate_act_fn";
        let inner = [BATCH, SEQUENCE, Size::Known(4 * self.hidden)];
        let inner = Ty::new(FLOAT, &inner);
        let wide = self.linear("intermediate/dense", input, [self.hidden, 4 * self.hidden]);
        let root = self.float(ACTIVATION, std::f32::consts::SQRT_2);
        let scaled = self.op(ACTIVATION, "Div", &[&wide, &root], inner);
        let erf = self.op(ACTIVATION, "Erf", &[&scaled], inner);
        let one = self.float(ACTIVATION, 1.0);
        let sum = self.op(ACTIVATION, "Add", &[&erf, &one], inner);
        let product = self.op(ACTIVATION, "Mul", &[&wide, &sum], inner);
        let half = self.float(ACTIVATION, 0.5);
        let active = self.op(ACTIVATION, "Mul", &[&product, &half], inner);
        self.linear("output/dense", &active, [4 * self.hidden, self.hidden])
    }

    fn normalize(&mut self, module: &str, input: &str) -> String {
        let mean = [BATCH, SEQUENCE, Size::Known(1)];
        let mean_ty = Ty::new(FLOAT, &mean);
        let mean =
            self.op_with(module, "ReduceMean", &[input], mean_ty, |node| ints_attribute(node, "axes", &[-1]));
        let centred = self.hidden_op(module, "Sub", &[input, &mean]);
        let two = self.float(module, 2.0);
        let square = self.hidden_op(module, "Pow", &[&centred, &two]);
        let variance = self
            .op_with(module, "ReduceMean", &[&square], mean_ty, |node| ints_attribute(node, "axes", &[-1]));
        let epsilon = self.float(module, 1e-5);
        let sum = self.op(module, "Add", &[&variance, &epsilon], mean_ty);
        let deviation = self.op(module, "Sqrt", &[&sum], mean_ty);
        let normal = self.hidden_op(module, "Div", &[&centred, &deviation]);
        let weight = self.weight(module, "weight", &[self.hidden]);
        let scaled = self.hidden_op(module, "Mul", &[&normal, &weight]);
        let bias = self.weight(module, "bias", &[self.hidden]);
        self.hidden_op(module, "Add", &[&scaled, &bias])
    }

    /// A linear map of the hidden size onto itself.
    fn project(&mut self, module: &str, input: &str) -> String {
        self.linear(module, input, [self.hidden, self.hidden])
    }

    /// A product with a matrix that the exporter turned, for which it made up a name, and a sum with a bias.
    fn linear(&mut self, module: &str, input: &str, dims: [i64; 2]) -> String {
        let ty = [BATCH, SEQUENCE, Size::Known(dims[1])];
        let ty = Ty::new(FLOAT, &ty);
        let matrix = format!("onnx::MatMul_{}", 1000 + self.matrices);
        self.matrices += 1;
        self.put_weight(&matrix, &dims);
        let product = self.op(module, "MatMul", &[input, &matrix], ty);
        let bias = self.weight(module, "bias", &dims[1..]);
        self.op(module, "Add", &[&bias, &product], ty)
    }

    /// From batch, sequence, hidden to batch, heads, sequence, head size.
    fn split_heads(&mut self, input: &str) -> String {
        let shape = self.shape(input, &[self.heads, self.head_size]);
        let parts = [BATCH, SEQUENCE, Size::Known(self.heads), Size::Known(self.head_size)];
        let parts = self.op("attention/self", "Reshape", &[input, &shape], Ty::new(FLOAT, &parts));
        let dims = [BATCH, Size::Known(self.heads), SEQUENCE, Size::Known(self.head_size)];
        self.transpose(&parts, &[0, 2, 1, 3], &dims)
    }

    /// The shape tensor of the first two dimensions of `input` and the given ones, computed node by node.
    fn shape(&mut self, input: &str, last: &[i64]) -> String {
        const MODULE: &str = "attention/self";
        let rank = if last.len() == 1 { 4 } else { 3 };
        let shape_ty = [Size::Known(rank)];
        let mut parts = Vec::new();
        for axis in 0..2 {
            let shape = self.op(MODULE, "Shape", &[input], Ty::new(INT64, &shape_ty));
            let index = self.int(MODULE, &[], axis);
            let size = self.op_with(MODULE, "Gather", &[&shape, &index], Ty::new(INT64, &[]), |node| {
                int_attribute(node, "axis", 0);
            });
            parts.push(size);
        }
        for part in &mut parts {
            let axes = self.int(MODULE, &[1], 0);
            *part = self.op(MODULE, "Unsqueeze", &[part, &axes], Ty::new(INT64, &[Size::Known(1)]));
        }
        for &size in last {
            parts.push(self.int(MODULE, &[1], size));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let ty = [Size::Known(parts.len() as i64)];
        self.op_with(MODULE, "Concat", &parts, Ty::new(INT64, &ty), |node| int_attribute(node, "axis", 0))
    }

    fn transpose(&mut self, input: &str, perm: &[i64], dims: &[Size]) -> String {
        let ty = Ty::new(FLOAT, dims);
        self.op_with("attention/self", "Transpose", &[input], ty, |node| ints_attribute(node, "perm", perm))
    }

    /// A node that makes a tensor of batch, sequence, hidden.
    fn hidden_op(&mut self, module: &str, op: &str, inputs: &[&str]) -> String {
        let ty = [BATCH, SEQUENCE, Size::Known(self.hidden)];
        self.op(module, op, inputs, Ty::new(FLOAT, &ty))
    }

    fn float(&mut self, module: &str, value: f32) -> String {
        self.constant(module, FLOAT, &[], &value.to_le_bytes())
    }

    fn int(&mut self, module: &str, dims: &[i64], value: i64) -> String {
        self.constant(module, INT64, dims, &value.to_le_bytes())
    }

    fn constant(&mut self, module: &str, elem: i32, dims: &[i64], data: &[u8]) -> String {
        let sizes: Vec<Size> = dims.iter().map(|&size| Size::Known(size)).collect();
        let data = Bytes::copy_from_slice(data);
        self.op_with(module, "Constant", &[], Ty::new(elem, &sizes), |node| {
            tensor_attribute(node, "value", elem, dims, &data);
        })
    }

    fn op(&mut self, module: &str, op: &str, inputs: &[&str], ty: Ty<'_>) -> String {
        self.op_with(module, op, inputs, ty, |_| ())
    }

    /// Writes a node of a module; returns the name of its output.
    fn op_with(
        &mut self,
        module: &str,
        op: &str,
        inputs: &[&str],
        ty: Ty<'_>,
        attributes: impl FnOnce(&mut onnx_proto::wire::Writer),
    ) -> String {
        let mut name = format!("/{}/{module}/{op}", self.path.replacen("encoder.", "encoder/", 1));
        let count = self.seen.entry(format!("{module}/{op}")).or_default();
        if *count > 0 {
            name.push_str(&format!("_{count}"));
        }
        *count += 1;
        let output = format!("{name}_output_0");
        self.graph.node_with(op, &name, inputs, &[&output], attributes);
        if self.value_info {
            self.graph.value_info(&output, ty);
        }
        output
    }

    /// An initializer of a module.
    fn weight(&mut self, module: &str, kind: &str, dims: &[i64]) -> String {
        let name = format!("{}.{}.{kind}", self.path, module.replace('/', "."));
        self.put_weight(&name, dims);
        name
    }

    fn put_weight(&mut self, name: &str, dims: &[i64]) {
        let bytes = 4 * dims.iter().product::<i64>() as usize;
        self.graph.initializer(name, FLOAT, dims, &self.zeros.slice(..bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_the_stated_number_of_nodes() {
        for layers in [0, 1, 3] {
            let bytes = Transformer { value_info: true, ..Transformer::with_layers(layers) }.build();
            let decoded = onnx_codec::decode(bytes, &onnx_codec::DecodeOptions::default()).unwrap();
            assert_eq!(decoded.model.node_count(), layers * NODES_PER_LAYER);
        }
    }
}
