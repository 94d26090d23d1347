//! Operators of onnxruntime's own domain, and functions of the model.

use super::world::{Value, World};

fn op(name: &str) -> String {
    format!("com.microsoft.{name}")
}

impl World {
    /// Adds an operator of `com.microsoft`.
    pub fn microsoft(&mut self) -> Option<()> {
        match self.rng.below(22) {
            11 | 12 | 20 | 21 => self.microsoft_tensor(),
            13 | 14 => self.microsoft_image(),
            15..=17 => self.microsoft_quantized(),
            18 | 19 => self.microsoft_language(),
            0 | 1 => self.fused_product(),
            2 | 3 => self.skipped(),
            4 => self.packed_attention(),
            5 => self.heads(),
            6 => self.activated(),
            7 => self.fused_gemm(),
            8 => self.quantized(),
            9 => self.embedded(),
            _ => self.odd(),
        }
    }

    fn fused_product(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let dims = x.dims()?;
        let rank = dims.len();
        let turn_a = self.rng.percent(50);
        let turn_b = self.rng.percent(50);
        let inner = if turn_a && rank > 1 { dims[rank - 2] } else { dims[rank - 1] };
        let fits = |value: &Value| {
            value.elem == "float"
                && value.dims().is_some_and(|other| match other.len() {
                    0 => false,
                    1 => other[0] == inner,
                    rank => other[if turn_b { rank - 1 } else { rank - 2 }] == inner,
                })
        };
        let y = match self.pick(fits).filter(|_| self.rng.percent(70)) {
            Some(value) => value.name,
            None if inner > 64 => return None,
            None if turn_b => self.weight(&[3, inner]),
            None => self.weight(&[inner, 3]),
        };
        let attributes = format!("transA = {}, transB = {}", i64::from(turn_a), i64::from(turn_b));
        let (a, b) = (x.name.as_str(), y.as_str());
        self.op(&op("FusedMatMul"), &[a, b], &attributes);
        Some(())
    }

    fn fused_gemm(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(2))?;
        let inner = x.dims()?[1];
        if inner > 64 {
            return None;
        }
        let w = self.weight(&[inner, 2]);
        let b = self.weight(&[2]);
        self.op(&op("FusedGemm"), &[&x.name, &w, &b], "activation = \"Relu\"");
        Some(())
    }

    fn skipped(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(3))?;
        let dims = x.dims()?;
        if dims[2] > 64 || dims[2] == 0 {
            return None;
        }
        let other = self.pick(|value| value.elem == "float" && value.dims() == Some(dims.clone()))?;
        let (scale, bias) = (self.weight(&[dims[2]]), self.weight(&[dims[2]]));
        match self.rng.below(4) {
            0 => {
                let outputs = self.rng.of(&[1, 4]);
                let names =
                    self.ops(&op("SkipLayerNormalization"), &[&x.name, &other.name, &scale, &bias], "", 1);
                if outputs == 4 {
                    self.op("Relu", &[&names[0]], "");
                }
            }
            1 => drop(self.op(&op("SkipSimplifiedLayerNormalization"), &[&x.name, &other.name, &scale], "")),
            2 => drop(self.op("SimplifiedLayerNormalization", &[&x.name, &scale], "axis = -1")),
            _ => drop(self.op(&op("BiasGelu"), &[&x.name, &bias], "")),
        }
        Some(())
    }

    fn packed_attention(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(3))?;
        let width = x.dims()?[2];
        if width == 0 || width % 2 != 0 || width > 16 {
            return None;
        }
        let (w, b) = (self.weight(&[width, 3 * width]), self.weight(&[3 * width]));
        let attributes = format!("num_heads = 2, unidirectional = {}", self.rng.below(2));
        self.op(&op("Attention"), &[&x.name, &w, &b], &attributes);
        Some(())
    }

    fn heads(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(3))?;
        let dims = x.dims()?;
        if dims[2] == 0 || dims[2] % 2 != 0 {
            return None;
        }
        let keys = self.pick(|value| {
            value.is_float(3) && value.dims().is_some_and(|other| other[0] == dims[0] && other[2] == dims[2])
        })?;
        self.op(&op("MultiHeadAttention"), &[&x.name, &keys.name, &keys.name], "num_heads = 2");
        Some(())
    }

    fn activated(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let name = self.rng.of(&["Gelu", "FastGelu", "QuickGelu"]);
        self.op(&op(name), &[&x.name], "");
        Some(())
    }

    fn quantized(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() == Some(2))?;
        let inner = x.dims()?[1];
        if inner == 0 || inner > 32 {
            return None;
        }
        if self.opset >= 11 && self.rng.percent(50) {
            let parts = self.ops("DynamicQuantizeLinear", &[&x.name], "", 3);
            let elements = vec!["1"; usize::try_from(inner * 3).ok()?].join(", ");
            let w = self.constant(&format!("uint8[{inner}, 3]"), &format!("{{{elements}}}"));
            let y = self.op("MatMulInteger", &[&parts[0], &w, &parts[2]], "");
            self.op("Cast", &[&y], "to = 1");
            return Some(());
        }
        let elements = vec!["1"; usize::try_from(inner * 3).ok()?].join(", ");
        let w = self.constant(&format!("uint8[{inner}, 3]"), &format!("{{{elements}}}"));
        let (scale, zero) = (self.float(0.5), self.constant("uint8", "{0}"));
        self.op(&op("DynamicQuantizeMatMul"), &[&x.name, &w, &scale, &zero], "");
        Some(())
    }

    fn embedded(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "int64" && value.rank() == Some(2))?;
        let (zero, table) = (self.scalar(0), self.weight(&[4, 6]));
        let safe = self.op("Mul", &[&x.name, &zero], "");
        let y = self.op("Gather", &[&table, &safe], "");
        self.op(&op("FastGelu"), &[&y], "");
        Some(())
    }

    fn odd(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let rank = x.rank()?;
        match self.rng.below(5) {
            0 => drop(self.op(&op("TransposeMatMul"), &[&x.name, &x.name], "transB = 1")),
            1 if rank == 2 => drop(self.op(&op("Trilu"), &[&x.name], "upper = 1")),
            2 => {
                let (a, b) = (self.op("Cast", &[&x.name], "to = 7"), self.ints(&[1]));
                self.op(&op("Range"), &[&a, &b], "");
            }
            3 if rank == 4 => drop(self.op(&op("NhwcMaxPool"), &[&x.name], "kernel_shape = [2, 2]")),
            _ => {
                let y = self.op(&op("Inverse"), &[&x.name], "");
                self.op("Neg", &[&y], "");
            }
        }
        Some(())
    }

    /// Calls a function of the model, with other attributes and imports each time.
    pub fn function(&mut self) -> Option<()> {
        if self.opset < 16 || self.ir < 8 {
            return None;
        }
        let name = self.fresh("f");
        let x =
            self.pick(|value| value.elem == "float" && value.rank() > Some(0) && value.rank() < Some(4))?;
        // onnxruntime reads the nodes of a function with the imports of the model, so these are versions that agree.
        let own = self.rng.of(&[16, 17, 18, 19, 21, self.opset]);
        let header = format!(
            "<domain: \"local\", opset_import: [\"\" : {own}, \"com.microsoft\" : 1, \"local\" : 1]>\n"
        );
        let (text, calls): (&str, Vec<String>) = match self.rng.below(9) {
            7 => (
                "<turn : int = 0> (x) => (y) { y = com.microsoft.FusedMatMul <transA : int = @turn, transB = 1> (x, x) }",
                vec![String::new(), "turn = 1".to_owned()],
            ),
            8 => return self.nested_calls(&name, &x, &header),
            0 => (
                "<axis> (x) => (y) { y = Concat <axis : int = @axis> (x, x) }",
                vec!["axis = 0".to_owned(), "axis = -1".to_owned()],
            ),
            1 => (
                "<axis : int = 0> (x) => (y) { y = Softmax <axis : int = @axis> (x) }",
                vec![String::new(), "axis = -1".to_owned()],
            ),
            2 => (
                "<axis : int = 1> (x) => (y) { y = Flatten <axis : int = @axis> (x) }",
                vec![String::new(), "axis = 0".to_owned(), "axis = -1".to_owned()],
            ),
            3 => (
                "<sizes> (x) => (y) { t = Constant <value_ints : ints = @sizes> () y = Reshape (x, t) }",
                vec!["sizes = [-1]".to_owned(), "sizes = [-1, 1]".to_owned(), "sizes = [1, -1]".to_owned()],
            ),
            4 => (
                "(x) => (y) { s = Shape <start = 0, end = 1> (x) m = Constant <value_ints = [-1]> () \
                 t = Concat <axis = 0> (s, m) y = Reshape (x, t) }",
                vec![String::new(), String::new()],
            ),
            5 => (
                "<keep : int = 1> (x) => (y) { a = Constant <value_ints = [-1]> () \
                 y = ReduceSum <keepdims : int = @keep> (x, a) }",
                vec![String::new(), "keep = 0".to_owned()],
            ),
            _ => (
                "(x) => (y) { s = Size (x) k = Constant <value_int = 3> () c = Equal (s, k) \
                 y = If (c) <then_branch = t () => (p) { p = Neg (x) }, else_branch = e () => (q) { q = Concat <axis = 0> (x, x) }> }",
                vec![String::new()],
            ),
        };
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        self.calls(&name, &x, &format!("{header}{name} {text}"), &calls)
    }

    /// Adds a function that calls a function.
    fn nested_calls(&mut self, name: &str, x: &Value, header: &str) -> Option<()> {
        let inner = self.fresh("f");
        self.functions.push(format!(
            "{header}{inner} <axis> (x) => (y) {{ s = Shape (x) z = ConstantOfShape (s) \
             y = Concat <axis : int = @axis> (x, z) }}"
        ));
        let text = format!(
            "{header}{name} <axis : int = 0> (x) => (y) {{ a = local.{inner} <axis : int = @axis> (x) \
             y = local.{inner} <axis = 0> (a) }}"
        );
        self.calls(name, x, &text, &["", "axis = -1"])
    }

    /// Adds a function and calls it twice.
    fn calls(&mut self, name: &str, x: &Value, text: &str, calls: &[&str]) -> Option<()> {
        self.functions.push(text.to_owned());
        for _ in 0..2 {
            let call = self.rng.of(calls);
            let other = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
            let operand = if self.rng.percent(50) { &x.name } else { &other.name };
            self.op(&format!("local.{name}"), &[operand], call);
        }
        Some(())
    }

    /// Declares types in between, some of which use names for other sizes.
    pub fn declare(&mut self) -> Option<()> {
        let x = self
            .pick(|value| !value.elem.is_empty() && value.rank() > Some(0) && value.name.starts_with('v'))?;
        if self.entries.iter().any(|entry| entry.ends_with(&format!(" {}", x.name))) {
            return None;
        }
        if x.at.iter().any(|at| at.dims.as_ref().map(Vec::len) != x.rank()) {
            // A rank that is wrong for other sizes would be a defect of the model.
            return None;
        }
        let mut dims = Vec::new();
        for (axis, dim) in x.dims()?.iter().enumerate() {
            let is_same =
                x.at.iter().all(|at| at.dims.as_ref().and_then(|dims| *dims.get(axis)?) == Some(*dim));
            dims.push(match self.rng.below(5) {
                0 | 1 if is_same => dim.to_string(),
                0 => "?".to_owned(),
                1 => self.fresh("k"),
                2 => self.rng.of(&["unk__0", "N", "M", "other"]).to_owned(),
                _ => self.fresh("d"),
            });
        }
        self.entries.push(format!("{}[{}] {}", x.elem, dims.join(", "), x.name));
        Some(())
    }
}
