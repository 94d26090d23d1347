//! Blocks of layers as exporters write them, with windows that may be larger than what they move over.

use super::operators::list;
use super::world::{Value, World};

const UNARY: &[&str] =
    &["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Softplus", "Elu", "Identity", "Floor"];

impl World {
    /// Adds a layer.
    pub fn layer(&mut self) -> Option<()> {
        match self.rng.below(22) {
            0 | 1 => self.window(),
            2 => self.pool(),
            3 => self.transposed(),
            4 | 5 => self.elementwise(),
            6 => self.product(),
            7 => self.gemm(),
            8 => self.normalized(),
            9 => self.reduced(),
            10 => self.joined(),
            11 => self.recurrent(),
            12 => self.scaled(),
            13 => self.attention(),
            14 => self.turned(),
            15 => self.squeezed(),
            16 => self.einsum(),
            17 => self.cut(),
            18 => self.depth(),
            19 => self.by_data(),
            20 => self.compared(),
            _ => self.flattened(),
        }
    }

    fn strides(&mut self, rank: usize, low: i64, high: i64) -> Vec<i64> {
        let mut numbers: Vec<i64> = (0..rank).map(|_| self.rng.between(low, high)).collect();
        if self.rng.percent(50) {
            let first = numbers[0];
            numbers.fill(first);
        }
        numbers
    }

    /// Attributes of a window.
    fn windowed(&mut self, kernel: &[i64], with_dilations: bool) -> String {
        let rank = kernel.len();
        let mut parts = vec![format!("kernel_shape = {}", list(kernel))];
        if self.rng.percent(70) {
            let strides = self.strides(rank, 1, 3);
            parts.push(format!("strides = {}", list(&strides)));
        }
        let mut is_same = false;
        match self.rng.below(5) {
            0 => {
                let pad = self.rng.of(&["SAME_UPPER", "SAME_LOWER"]);
                is_same = true;
                parts.push(format!("auto_pad = \"{pad}\""));
            }
            1 => parts.push("auto_pad = \"VALID\"".to_owned()),
            2 => {}
            _ => {
                let most = kernel.iter().copied().min().unwrap_or(1).min(3) - 1;
                let pads = self.strides(rank * 2, 0, most);
                parts.push(format!("pads = {}", list(&pads)));
            }
        }
        if with_dilations && !is_same && self.rng.percent(30) {
            let dilations = self.strides(rank, 1, 2);
            parts.push(format!("dilations = {}", list(&dilations)));
        }
        parts.join(", ")
    }

    fn image(&mut self) -> Option<(Value, usize, i64)> {
        let rank = self.rng.of(&[3, 4, 4, 4, 5]);
        let x = self.pick(|value| value.is_float(rank))?;
        let channels = x.at[0].dims.as_ref()?[1]?;
        Some((x, rank - 2, channels))
    }

    fn window(&mut self) -> Option<()> {
        let (x, rank, channels) = self.image()?;
        if channels == 0 || channels > 16 {
            return None;
        }
        let group = if self.rng.percent(25) { channels } else { 1 };
        let out = group * self.rng.between(1, 3);
        let kernel = self.strides(rank, 1, 4);
        let mut dims = vec![out, channels / group];
        dims.extend(&kernel);
        let w = self.weight(&dims);
        let attributes = format!("{}, group = {group}", self.windowed(&kernel, true));
        let y = if self.rng.percent(50) {
            let b = self.weight(&[out]);
            self.op("Conv", &[&x.name, &w, &b], &attributes)
        } else {
            self.op("Conv", &[&x.name, &w], &attributes)
        };
        if self.rng.percent(50) {
            self.op("Relu", &[&y], "");
        }
        Some(())
    }

    fn pool(&mut self) -> Option<()> {
        let (x, rank, _) = self.image()?;
        if self.rng.percent(12) {
            let op = self.rng.of(&["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]);
            self.op(op, &[&x.name], "");
            return Some(());
        }
        let op = self.rng.of(&["MaxPool", "MaxPool", "AveragePool", "LpPool"]);
        let kernel = self.strides(rank, 1, 4);
        let dilated = match op {
            "MaxPool" => self.opset >= 10,
            "AveragePool" => self.opset >= 19,
            _ => self.opset >= 18,
        };
        let mut attributes = self.windowed(&kernel, dilated);
        let rounds = match op {
            "LpPool" => self.opset >= 18,
            _ => self.opset >= 10,
        };
        if rounds && self.rng.percent(40) {
            attributes.push_str(", ceil_mode = 1");
        }
        let outputs = if op == "MaxPool" && self.opset >= 8 && self.rng.percent(20) { 2 } else { 1 };
        self.ops(op, &[&x.name], &attributes, outputs);
        Some(())
    }

    fn transposed(&mut self) -> Option<()> {
        let (x, rank, channels) = self.image()?;
        if channels == 0 || channels > 16 {
            return None;
        }
        let kernel = self.strides(rank, 1, 3);
        let out = self.rng.between(1, 3);
        let mut dims = vec![channels, out];
        dims.extend(&kernel);
        let w = self.weight(&dims);
        let mut attributes = format!("kernel_shape = {}", list(&kernel));
        let strides = self.strides(rank, 1, 3);
        attributes.push_str(&format!(", strides = {}", list(&strides)));
        match self.rng.below(4) {
            0 => attributes.push_str(", auto_pad = \"SAME_UPPER\""),
            1 => {
                let pads = self.strides(rank * 2, 0, 1);
                attributes.push_str(&format!(", pads = {}", list(&pads)));
            }
            2 => {
                let extra: Vec<i64> = strides.iter().map(|stride| i64::from(*stride > 1)).collect();
                attributes.push_str(&format!(", output_padding = {}", list(&extra)));
            }
            _ => {
                let dilations = self.strides(rank, 1, 2);
                attributes.push_str(&format!(", dilations = {}", list(&dilations)));
            }
        }
        self.op("ConvTranspose", &[&x.name, &w], &attributes);
        Some(())
    }

    fn elementwise(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank().is_some())?;
        if self.rng.percent(25) {
            let op = self.rng.of(UNARY);
            self.op(op, &[&x.name], "");
            return Some(());
        }
        let dims = x.dims()?;
        let fits = |value: &Value| {
            value.elem == "float"
                && value.dims().is_some_and(|other| {
                    dims.iter().rev().zip(other.iter().rev()).all(|(&a, &b)| a == b || a == 1 || b == 1)
                })
        };
        let y = self.pick(fits)?;
        let op = match self.opset {
            12.. => self.rng.of(&["Add", "Mul", "Sub", "Div", "Pow", "Max", "Min", "Sum", "Mean"]),
            8.. => self.rng.of(&["Add", "Mul", "Sub", "Div", "Max", "Sum", "Mean"]),
            _ => self.rng.of(&["Add", "Mul", "Sub", "Div"]),
        };
        if matches!(op, "Max" | "Min" | "Sum" | "Mean") && self.rng.percent(40) {
            let z = self.pick(fits)?;
            self.op(op, &[&x.name, &y.name, &z.name], "");
            return Some(());
        }
        if self.rng.percent(12) && self.opset >= 9 {
            self.op("PRelu", &[&x.name, &y.name], "");
            return Some(());
        }
        self.op(op, &[&x.name, &y.name], "");
        Some(())
    }

    fn product(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let dims = x.dims()?;
        let inner = *dims.last()?;
        if self.rng.percent(50) {
            if inner > 64 {
                return None;
            }
            let out = self.rng.between(1, 6);
            let w = if self.rng.percent(20) { self.weight(&[inner]) } else { self.weight(&[inner, out]) };
            self.op("MatMul", &[&x.name, &w], "");
            return Some(());
        }
        let fits = |value: &Value| {
            value.elem == "float"
                && value.dims().is_some_and(|other| match other.len() {
                    0 => false,
                    1 => other[0] == inner,
                    rank => other[rank - 2] == inner,
                })
        };
        let y = self.pick(fits)?;
        self.op("MatMul", &[&x.name, &y.name], "");
        Some(())
    }

    fn gemm(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(2))?;
        let (turn_a, turn_b) = (self.rng.percent(40), self.rng.percent(40));
        let dims = x.dims()?;
        let inner = if turn_a { dims[0] } else { dims[1] };
        if inner > 64 {
            return None;
        }
        let out = self.rng.between(1, 5);
        let other = self.pick(|value| {
            value.is_float(2) && value.dims().is_some_and(|dims| dims[usize::from(turn_b)] == inner)
        });
        let w = match other.filter(|_| self.rng.percent(50)) {
            Some(value) => value.name,
            None if turn_b => self.weight(&[out, inner]),
            None => self.weight(&[inner, out]),
        };
        let attributes = format!("transA = {}, transB = {}", i64::from(turn_a), i64::from(turn_b));
        if self.opset >= 11 && self.rng.percent(30) {
            self.op("Gemm", &[&x.name, &w], &attributes);
            return Some(());
        }
        let bias = match self.rng.below(3) {
            0 => self.weight(&[1]),
            1 => self.weight(&[]),
            _ => self.weight(&[1, 1]),
        };
        self.op("Gemm", &[&x.name, &w, &bias], &attributes);
        Some(())
    }

    fn normalized(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(1))?;
        let rank = x.rank()?;
        let axis = self.rng.below(rank);
        let named = self.axis(axis, rank);
        let dims = x.dims()?;
        let (last, channels) = (*dims.last()?, dims[1]);
        match self.rng.below(6) {
            0 => drop(self.op("Softmax", &[&x.name], &format!("axis = {named}"))),
            1 => drop(self.op("LogSoftmax", &[&x.name], &format!("axis = {named}"))),
            2 if self.opset >= 17 && last <= 64 => {
                let (scale, bias) = (self.weight(&[last]), self.weight(&[last]));
                let outputs = self.rng.of(&[1, 1, 3]);
                self.ops("LayerNormalization", &[&x.name, &scale, &bias], "axis = -1", outputs);
            }
            3 if channels <= 64 => {
                let params: Vec<String> = (0..4).map(|_| self.weight(&[channels])).collect();
                let inputs: Vec<&str> =
                    std::iter::once(x.name.as_str()).chain(params.iter().map(String::as_str)).collect();
                self.op("BatchNormalization", &inputs, "");
            }
            4 if rank > 2 && channels <= 64 => {
                let (scale, bias) = (self.weight(&[channels]), self.weight(&[channels]));
                self.op("InstanceNormalization", &[&x.name, &scale, &bias], "");
            }
            _ => self.by_hand(&x),
        }
        Some(())
    }

    /// A normalization in single steps.
    fn by_hand(&mut self, x: &Value) {
        let mean = self.reduce("ReduceMean", &x.name, Some(&[-1]), true);
        let centred = self.op("Sub", &[&x.name, &mean], "");
        let square = self.op("Mul", &[&centred, &centred], "");
        let variance = self.reduce("ReduceMean", &square, Some(&[-1]), true);
        let root = self.op("Sqrt", &[&variance], "");
        let one = self.float(1.0);
        let root = self.op("Add", &[&root, &one], "");
        self.op("Div", &[&centred, &root], "");
    }

    fn reduced(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank().is_some())?;
        let rank = x.rank()?;
        if rank > 0 && self.rng.percent(30) {
            let axis = self.rng.below(rank);
            let keep = i64::from(self.rng.percent(50));
            let op = self.rng.of(&["ArgMax", "ArgMin"]);
            self.op(op, &[&x.name], &format!("axis = {axis}, keepdims = {keep}"));
            return Some(());
        }
        let op = self.rng.of(&[
            "ReduceSum",
            "ReduceMean",
            "ReduceMax",
            "ReduceL2",
            "ReduceLogSumExp",
            "ReduceProd",
        ]);
        let keep = self.rng.percent(50);
        if rank == 0 || self.rng.percent(25) {
            self.reduce(op, &x.name, None, keep);
            return Some(());
        }
        let mut axes: Vec<i64> = (0..rank).filter(|_| self.rng.percent(50)).map(|axis| axis as i64).collect();
        if axes.is_empty() {
            axes.push(0);
        }
        let is_negative = self.opset >= 11 && self.rng.percent(50);
        if is_negative {
            axes.iter_mut().for_each(|axis| *axis -= rank as i64);
        }
        self.reduce(op, &x.name, Some(&axes), keep);
        Some(())
    }

    fn joined(&mut self) -> Option<()> {
        let x = self.pick(|value| !value.elem.is_empty() && value.rank() > Some(0))?;
        let dims = x.dims()?;
        let axis = self.rng.below(dims.len());
        let named = self.axis(axis, dims.len());
        let fits = |value: &Value| {
            value.elem == x.elem
                && value.dims().is_some_and(|other| {
                    other.len() == dims.len() && (0..dims.len()).all(|at| at == axis || dims[at] == other[at])
                })
        };
        let mut names = vec![x.name.clone()];
        for _ in 0..=self.rng.below(2) {
            names.push(self.pick(fits)?.name);
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.op("Concat", &names, &format!("axis = {named}"));
        Some(())
    }

    fn recurrent(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(3))?;
        let dims = x.dims()?;
        if dims[2] == 0 || dims[2] > 32 {
            return None;
        }
        let (op, gates) = self.rng.of(&[("LSTM", 4), ("GRU", 3), ("RNN", 1)]);
        let (directions, direction) = self.rng.of(&[(1, "forward"), (1, "reverse"), (2, "bidirectional")]);
        let hidden = self.rng.between(1, 4);
        let w = self.weight(&[directions, gates * hidden, dims[2]]);
        let r = self.weight(&[directions, gates * hidden, hidden]);
        let mut attributes = format!("hidden_size = {hidden}, direction = \"{direction}\"");
        if direction == "bidirectional" && op == "RNN" {
            attributes.push_str(", activations = [\"Tanh\", \"Tanh\"]");
        }
        let outputs = self.ops(op, &[&x.name, &w, &r], &attributes, if op == "LSTM" { 3 } else { 2 });
        // The conversion back to three dimensions, as exporters write it.
        let turned = self.op("Transpose", &[&outputs[0]], "perm = [0, 2, 1, 3]");
        let target = self.ints(&[0, 0, -1]);
        self.op("Reshape", &[&turned, &target], "");
        Some(())
    }

    fn scaled(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(4))?;
        let scale =
            |world: &mut Self| world.rng.of(&["1.0", "2.0", "0.5", "1.5", "3.0", "0.7", "2.3", "0.25"]);
        let (a, b) = (scale(self), scale(self));
        let mode = self.rng.of(&["nearest", "linear"]);
        if self.opset < 10 {
            let scales = format!("[1.0, 1.0, {a}, {b}]");
            if self.opset < 9 {
                self.op("Upsample", &[&x.name], &format!("mode = \"{mode}\", scales = {scales}"));
                return Some(());
            }
            let scales = self.constant("float[4]", &format!("{{1.0, 1.0, {a}, {b}}}"));
            self.op("Upsample", &[&x.name, &scales], &format!("mode = \"{mode}\""));
            return Some(());
        }
        if self.opset >= 18 && self.rng.percent(40) {
            let scales = self.constant("float[2]", &format!("{{{a}, {b}}}"));
            let axes = self.rng.of(&["[2, 3]", "[3, 2]", "[-2, -1]"]);
            self.op("Resize", &[&x.name, "", &scales], &format!("mode = \"{mode}\", axes = {axes}"));
            return Some(());
        }
        let scales = self.constant("float[4]", &format!("{{1.0, 1.0, {a}, {b}}}"));
        if self.opset == 10 {
            self.op("Resize", &[&x.name, &scales], &format!("mode = \"{mode}\""));
            return Some(());
        }
        let region = if self.opset >= 13 { String::new() } else { self.constant("float[0]", "{}") };
        self.op("Resize", &[&x.name, &region, &scales], &format!("mode = \"{mode}\""));
        Some(())
    }

    fn attention(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(3))?;
        let width = x.dims()?[2];
        if width == 0 || width > 32 {
            return None;
        }
        let heads = if width % 2 == 0 { 2 } else { 1 };
        let shape = self.op("Shape", &[&x.name], "");
        let mut parts = Vec::new();
        for _ in 0..3 {
            let w = self.weight(&[width, width]);
            let y = self.op("MatMul", &[&x.name, &w], "");
            let target = if self.rng.percent(50) {
                self.ints(&[0, 0, heads, width / heads])
            } else {
                let (batch, steps) = (self.element(&shape, 0), self.element(&shape, 1));
                let rest = self.ints(&[heads, -1]);
                self.op("Concat", &[&batch, &steps, &rest], "axis = 0")
            };
            let split = self.op("Reshape", &[&y, &target], "");
            parts.push(self.op("Transpose", &[&split], "perm = [0, 2, 1, 3]"));
        }
        let keys = self.op("Transpose", &[&parts[1]], "perm = [0, 1, 3, 2]");
        let scores = self.op("MatMul", &[&parts[0], &keys], "");
        let weights = self.op("Softmax", &[&scores], "axis = 3");
        let mixed = self.op("MatMul", &[&weights, &parts[2]], "");
        let merged = self.op("Transpose", &[&mixed], "perm = [0, 2, 1, 3]");
        let target = if self.rng.percent(50) { self.ints(&[0, 0, width]) } else { shape };
        self.op("Reshape", &[&merged, &target], "");
        Some(())
    }
}
