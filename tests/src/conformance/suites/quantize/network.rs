//! Small networks with weights, of every version that has quantized numbers.

use onnx_ir::Model;
use onnx_text::{ParseOptions, parse_model};

use crate::attack::generate::random::Random;

/// The oldest and the newest version of the operators.
const VERSIONS: (i64, i64) = (10, 25);

/// A network: its statements, and its constants.
struct Network {
    random: Random,
    body: String,
    constants: Vec<String>,
    /// The name of the value that the next operator takes, and its sizes.
    value: (String, Vec<usize>),
    made: usize,
}

/// The network of a seed: products of matrices or convolutions with what is found around them.
pub(super) fn network(seed: u64) -> Result<Model, String> {
    let mut random = Random::new(seed);
    let version = random.between(VERSIONS.0, VERSIONS.1);
    let is_image = random.below(2) == 0;
    let dims = if is_image { vec![2, 4, 6, 6] } else { vec![3, 32] };
    let mut network = Network {
        random,
        body: String::new(),
        constants: Vec::new(),
        value: ("x".to_owned(), dims.clone()),
        made: 0,
    };
    for _ in 0..2 + network.random.below(5) {
        if is_image { network.image() } else { network.matrix() }
    }
    if is_image && network.random.below(2) == 0 {
        let (name, dims) = network.value.clone();
        let rows: usize = dims.iter().take(1).product();
        network.put(&format!("Flatten ({name})"), vec![rows, dims.iter().skip(1).product()]);
        network.matrix();
    }
    let shown = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let Network { body, constants, value, .. } = network;
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": {version}]> g (float[{}] x) => (float[{}] {}) <{}> {{\n{body}}}",
        shown(&dims),
        shown(&value.1),
        value.0,
        constants.join(",\n")
    );
    parse_model(&text, &ParseOptions::default()).map_err(|error| format!("{error}\n{text}"))
}

impl Network {
    /// Adds an operator that makes the next value.
    fn put(&mut self, call: &str, dims: Vec<usize>) {
        self.made += 1;
        let name = format!("v{}", self.made);
        self.body.push_str(&format!("{name} = {call}\n"));
        self.value = (name, dims);
    }

    /// Adds a constant of numbers between -1 and 1, and returns its name.
    fn constant(&mut self, dims: &[usize]) -> String {
        let name = format!("c{}", self.constants.len());
        let count = dims.iter().product::<usize>();
        let numbers: Vec<String> =
            (0..count).map(|_| format!("{:.3}", self.random.between(-1000, 1000) as f64 / 1000.0)).collect();
        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
        self.constants.push(format!("float[{}] {name} = {{{}}}", dims.join(","), numbers.join(", ")));
        name
    }

    /// Numbers for a bias, or none.
    fn bias(&mut self, count: usize) -> String {
        if self.random.below(2) == 0 { String::new() } else { format!(", {}", self.constant(&[count])) }
    }

    fn matrix(&mut self) {
        let (name, dims) = self.value.clone();
        let width = dims.last().copied().unwrap_or(1);
        let wide = [16, 32, 48][self.random.below(3)];
        let new = vec![dims.first().copied().unwrap_or(1), wide];
        match self.random.below(9) {
            0..=2 => {
                let weight = self.constant(&[width, wide]);
                self.put(&format!("MatMul ({name}, {weight})"), new);
            }
            3 => {
                let (weight, bias) = (self.constant(&[wide, width]), self.constant(&[wide]));
                let factor = if self.random.below(3) == 0 { ", alpha = 0.5, beta = 2.0" } else { "" };
                self.put(&format!("Gemm <transB = 1{factor}> ({name}, {weight}, {bias})"), new);
            }
            4 => {
                let other = self.constant(&[width]);
                self.put(&format!("Add ({name}, {other})"), dims);
            }
            5 => self.put(&format!("Relu ({name})"), dims),
            6 => {
                let other = self.constant(&[1, width]);
                self.put(&format!("Mul ({other}, {name})"), dims);
            }
            7 => self.put(&format!("Softmax <axis = 1> ({name})"), dims),
            _ => {
                self.put(&format!("Transpose ({name})"), dims.iter().rev().copied().collect());
                let (turned, dims) = self.value.clone();
                self.put(&format!("Transpose ({turned})"), dims.iter().rev().copied().collect());
            }
        }
    }

    fn image(&mut self) {
        let (name, dims) = self.value.clone();
        let &[count, channels, height, width] = dims.as_slice() else { return };
        match self.random.below(9) {
            0..=2 => {
                let groups = if self.random.below(3) == 0 { channels } else { 1 };
                let new = [channels, 2 * channels][self.random.below(2)].min(16);
                let new = if new % groups == 0 { new } else { groups };
                let weight = self.constant(&[new, channels / groups, 3, 3]);
                let bias = self.bias(new);
                let call = format!("Conv <group = {groups}, pads = [1, 1, 1, 1]> ({name}, {weight}{bias})");
                self.put(&call, vec![count, new, height, width]);
            }
            3 => {
                let weight = self.constant(&[channels, 3, 1, 1]);
                let bias = self.bias(3);
                self.put(&format!("ConvTranspose ({name}, {weight}{bias})"), vec![count, 3, height, width]);
            }
            4 => self.put(&format!("Relu ({name})"), dims),
            5 => {
                let call = format!("MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> ({name})");
                self.put(&call, dims);
            }
            6 => {
                let other = self.constant(&[1, channels, 1, 1]);
                self.put(&format!("Add ({name}, {other})"), dims);
            }
            7 if channels <= 8 => {
                let call = format!("Concat <axis = 1> ({name}, {name})");
                self.put(&call, vec![count, 2 * channels, height, width]);
            }
            _ => self.put(&format!("Sigmoid ({name})"), dims),
        }
    }
}
