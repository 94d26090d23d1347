//! Control flow and sequences: branches on sizes, loops with constant and growing values, scans, sequences.

use super::world::{Value, World};

impl World {
    /// Adds a node with nested graphs.
    pub fn control(&mut self) -> Option<()> {
        match self.rng.below(9) {
            0..=2 => self.conditional(),
            3 => self.collecting(),
            4 => self.growing(),
            5 => self.scanning(),
            6 => self.nested(),
            7 => self.scanned_sizes(),
            _ => self.until(),
        }
    }

    fn tensor(&mut self) -> Option<Value> {
        self.pick(|value| value.elem == "float" && value.rank().is_some() && value.rank() < Some(5))
    }

    /// One or two steps within a graph that give a value.
    fn steps(&mut self, x: &Value, others: &[String]) -> String {
        let rank = x.rank().unwrap_or(0);
        match self.rng.below(9) {
            0 => self.op("Relu", &[&x.name], ""),
            1 => self.op("Identity", &[&x.name], ""),
            2 if rank > 0 => self.op("Concat", &[&x.name, &x.name], "axis = 0"),
            3 if rank > 0 => self.slice(&x.name, 1, 100, 0, 1),
            4 if rank == 2 => self.op("Transpose", &[&x.name], ""),
            5 if rank > 0 => self.reduce("ReduceMax", &x.name, Some(&[0]), true),
            6 if !others.is_empty() => {
                let other = self.rng.of(others);
                self.op("Add", &[&x.name, &other], "")
            }
            7 if rank > 0 => {
                let flat = self.ints(&[-1]);
                self.op("Reshape", &[&x.name, &flat], "")
            }
            8 if self.opset >= 11 => self.squeeze(&x.name, None),
            _ => self.op("Tanh", &[&x.name], ""),
        }
    }

    fn conditional(&mut self) -> Option<()> {
        let x = self.tensor()?;
        let y = if self.rng.percent(50) {
            x.clone()
        } else {
            self.pick(|value| value.elem == "float" && value.rank() == x.rank())?
        };
        let condition = self.condition(1)?;
        let condition = self.squeeze(&condition, Some(&[0]));
        let others = [y.name.clone()];
        self.begin();
        let p = self.steps(&x, &others);
        let then = self.end();
        self.begin();
        let q = self.steps(&y, &others);
        let otherwise = self.end();
        let branches = format!(
            "then_branch = t () => ({p}) {{ {then} }}, else_branch = e () => ({q}) {{ {otherwise} }}"
        );
        let z = self.op("If", &[&condition], &branches);
        self.op("Shape", &[&z], "");
        Some(())
    }

    /// A rank test around `Squeeze`, as exporters write it.
    fn nested(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let shape = self.op("Shape", &[&x.name], "");
        let first = self.element(&shape, 0);
        let one = self.ints(&[1]);
        let is_one = self.op("Equal", &[&first, &one], "");
        let is_one = self.squeeze(&is_one, Some(&[0]));
        self.begin();
        let p = self.squeeze(&x.name, Some(&[0]));
        let then = self.end();
        self.begin();
        let q = self.op("Identity", &[&x.name], "");
        let otherwise = self.end();
        let inner = format!(
            "then_branch = t () => ({p}) {{ {then} }}, else_branch = e () => ({q}) {{ {otherwise} }}"
        );
        if self.rng.percent(50) {
            self.op("If", &[&is_one], &inner);
            return Some(());
        }
        let outer = self.condition(0)?;
        let outer = self.squeeze(&outer, Some(&[0]));
        self.begin();
        let r = self.op("If", &[&is_one], &inner);
        let then = self.end();
        let s = self.fresh("v");
        let m = self.fresh("n");
        let branches = format!(
            "then_branch = a () => ({r}) {{ {then} }}, \
             else_branch = o () => ({s}) {{ [{m}b] {s} = Neg ({}) }}",
            x.name
        );
        self.op("If", &[&outer], &branches);
        Some(())
    }

    fn trips(&mut self) -> Option<String> {
        if self.rng.percent(40) {
            let trips = self.rng.between(0, 3);
            return Some(self.scalar(trips));
        }
        let size = self.size(1)?;
        let limit = self.ints(&[5]);
        let size = if self.opset >= 12 { self.op("Min", &[&size, &limit], "") } else { size };
        Some(self.to_scalar(&size))
    }

    /// A loop that carries a value of one shape and collects others.
    fn collecting(&mut self) -> Option<()> {
        let x = self.tensor()?;
        let trips = self.trips()?;
        let go = if self.rng.percent(50) { String::new() } else { self.constant("bool", "{1}") };
        let [i, c, old] = ["i", "go", "old"].map(|prefix| self.fresh(prefix));
        let carried = Value { name: old.clone(), ..x.clone() };
        self.begin();
        let d = self.op("Identity", &[&c], "");
        let new = self.op("Neg", &[&old], "");
        let seen = self.steps(&carried, std::slice::from_ref(&x.name));
        let step = self.op("Identity", &[&i], "");
        let body = self.end();
        let body = format!(
            "body = b (int64 {i}, bool {c}, float[] {old}) => ({d}, {new}, {seen}, {step}) {{ {body} }}"
        );
        self.ops("Loop", &[&trips, &go, &x.name], &body, 3);
        Some(())
    }

    /// A loop whose carried value grows or shrinks.
    fn growing(&mut self) -> Option<()> {
        let x =
            self.pick(|value| value.elem == "float" && value.rank() > Some(0) && value.rank() < Some(4))?;
        let trips = self.trips()?;
        let [i, c, old] = ["i", "go", "old"].map(|prefix| self.fresh(prefix));
        self.begin();
        let d = self.op("Identity", &[&c], "");
        let new = match self.rng.below(4) {
            0 => self.slice(&old, 1, i64::MAX, 0, 1),
            1 => self.op("Concat", &[&old, &old], "axis = 0"),
            2 => self.unsqueeze(&old, &[0]),
            _ => self.op("Concat", &[&old, &x.name], "axis = 0"),
        };
        let body = self.end();
        let body = format!("body = b (int64 {i}, bool {c}, float[] {old}) => ({d}, {new}) {{ {body} }}");
        let y = self.op("Loop", &[&trips, "", &x.name], &body);
        self.op("Abs", &[&y], "");
        Some(())
    }

    /// A loop that ends by its condition.
    fn until(&mut self) -> Option<()> {
        let limit = self.size(1)?;
        let four = self.ints(&[4]);
        let limit = if self.opset >= 12 { self.op("Min", &[&limit, &four], "") } else { four };
        let start = self.ints(&[0]);
        let go = self.constant("bool", "{1}");
        let most = if self.rng.percent(50) { self.scalar(9) } else { String::new() };
        let [i, c, old] = ["i", "go", "old"].map(|prefix| self.fresh(prefix));
        if self.opset < 9 {
            return None;
        }
        self.begin();
        let one = self.ints(&[1]);
        let new = self.op("Add", &[&old, &one], "");
        let less = self.op("Less", &[&new, &limit], "");
        let d = self.squeeze(&less, Some(&[0]));
        let body = self.end();
        let body =
            format!("body = b (int64 {i}, bool {c}, int64[1] {old}) => ({d}, {new}, {old}) {{ {body} }}");
        let outputs = self.ops("Loop", &[&most, &go, &start], &body, 2);
        self.op("Shape", &[&outputs[1]], "");
        Some(())
    }

    fn scanning(&mut self) -> Option<()> {
        if self.opset < 9 {
            return None;
        }
        let x = self.pick(|value| value.is_float(2) || value.is_float(3))?;
        let rank = x.rank()?;
        let axis = self.rng.below(rank);
        let mut rest = x.dims()?;
        rest.remove(axis);
        let state = self.op("Identity", &[&x.name], "");
        let first = self.reduce("ReduceSum", &state, Some(&[axis as i64]), false);
        let [old, row] = ["s", "row"].map(|prefix| self.fresh(prefix));
        let element = Value {
            name: row.clone(),
            at: std::array::from_fn(|_| super::world::At {
                dims: Some(rest.iter().map(|&dim| Some(dim)).collect()),
                elements: None,
            }),
            ..x.clone()
        };
        self.begin();
        let new = self.op("Add", &[&old, &row], "");
        let seen = self.steps(&element, std::slice::from_ref(&old));
        let body = self.end();
        let back = self.rng.below(2);
        let mut attributes = format!(
            "num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{back}], \
             body = b (float[] {old}, float[] {row}) => ({new}, {seen}) {{ {body} }}"
        );
        if self.rng.percent(30) {
            let axis = if self.opset >= 11 { -1 } else { 0 };
            attributes.push_str(&format!(", scan_output_axes = [{axis}]"));
        }
        self.ops("Scan", &[&first, &x.name], &attributes, 2);
        Some(())
    }

    /// A scan over a shape: the product of sizes and all partial products.
    fn scanned_sizes(&mut self) -> Option<()> {
        if self.opset < 9 {
            return None;
        }
        let x = self.pick(|value| value.rank() > Some(0) && !value.elem.is_empty())?;
        let shape = self.op("Shape", &[&x.name], "");
        let start = self.scalar(1);
        let [old, row] = ["s", "row"].map(|prefix| self.fresh(prefix));
        self.begin();
        let new = self.op("Mul", &[&old, &row], "");
        let seen = self.op("Identity", &[&new], "");
        let body = self.end();
        let attributes = format!(
            "num_scan_inputs = 1, body = b (int64 {old}, int64 {row}) => ({new}, {seen}) {{ {body} }}"
        );
        let outputs = self.ops("Scan", &[&start, &shape], &attributes, 2);
        let flat = self.unsqueeze(&outputs[0], &[0]);
        self.op("Reshape", &[&x.name, &flat], "");
        Some(())
    }

    /// Adds sequences.
    pub fn sequence(&mut self) -> Option<()> {
        if self.opset < 11 {
            return None;
        }
        match self.rng.below(7) {
            0 => self.constructed(),
            1 | 2 => self.split_to_sequence(),
            3 => self.indexed(),
            4 => self.inserted(),
            5 => self.mapped(),
            _ => self.collected_sequence(),
        }
    }

    fn constructed(&mut self) -> Option<()> {
        let x = self.tensor()?;
        let y = self.pick(|value| value.elem == "float" && value.rank() == x.rank())?;
        let sequence = self.op("SequenceConstruct", &[&x.name, &y.name, &x.name], "");
        self.read(&sequence, 3)
    }

    /// Reads from a sequence of `length` elements.
    fn read(&mut self, sequence: &str, length: i64) -> Option<()> {
        for _ in 0..=self.rng.below(2) {
            match self.rng.below(4) {
                0 => {
                    let new = if self.rng.percent(30) { ", new_axis = 1" } else { "" };
                    self.op("ConcatFromSequence", &[sequence], &format!("axis = 0{new}"));
                }
                1 => drop(self.op("SequenceLength", &[sequence], "")),
                _ => {
                    let at = self.rng.between(-length, length - 1);
                    let at = self.scalar(at);
                    self.op("SequenceAt", &[sequence, &at], "");
                }
            }
        }
        Some(())
    }

    fn split_to_sequence(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let dims = x.dims()?;
        let axis = self.rng.below(dims.len());
        let named = self.axis(axis, dims.len());
        let keep = i64::from(self.rng.percent(60));
        let attributes = format!("axis = {named}, keepdims = {keep}");
        let (sequence, length) = match self.rng.below(3) {
            0 => (self.op("SplitToSequence", &[&x.name], &attributes), dims[axis]),
            1 => {
                let part = self.scalar(2);
                (self.op("SplitToSequence", &[&x.name, &part], &attributes), (dims[axis] + 1) / 2)
            }
            _ => {
                let parts = self.ints(&[1, (dims[axis] - 1).max(0)]);
                (self.op("SplitToSequence", &[&x.name, &parts], &attributes), 2)
            }
        };
        if length == 0 {
            return Some(());
        }
        self.read(&sequence, length)
    }

    fn indexed(&mut self) -> Option<()> {
        let x = self.tensor()?;
        let y = self.pick(|value| value.elem == "float" && value.rank() == x.rank())?;
        let sequence = self.op("SequenceConstruct", &[&x.name, &y.name], "");
        let at = if self.rng.percent(50) {
            let condition = self.condition(1)?;
            let at = self.op("Cast", &[&condition], "to = 7");
            self.to_scalar(&at)
        } else {
            self.scalar(-1)
        };
        self.op("SequenceAt", &[&sequence, &at], "");
        Some(())
    }

    fn inserted(&mut self) -> Option<()> {
        let x = self.tensor()?;
        let y = self.pick(|value| value.elem == "float" && value.rank() == x.rank())?;
        let empty = self.op("SequenceEmpty", &[], "");
        let one = self.op("SequenceInsert", &[&empty, &x.name], "");
        let at = self.rng.of(&[0, -1, 1]);
        let at = self.scalar(at);
        let two = self.op("SequenceInsert", &[&one, &y.name, &at], "");
        if self.rng.percent(40) {
            let at = self.scalar(0);
            let left = self.op("SequenceErase", &[&two, &at], "");
            return self.read(&left, 1);
        }
        self.read(&two, 2)
    }

    fn mapped(&mut self) -> Option<()> {
        if self.opset < 17 {
            return None;
        }
        let x = self.tensor()?;
        let y = self.pick(|value| value.elem == "float" && value.rank() == x.rank())?;
        let sequence = self.op("SequenceConstruct", &[&x.name, &y.name], "");
        let item = self.fresh("item");
        let element = Value { name: item.clone(), ..x.clone() };
        self.begin();
        let out = self.steps(&element, &[]);
        let body = self.end();
        let body = format!("body = b (float[] {item}) => (float[] {out}) {{ {body} }}");
        let mapped = self.op("SequenceMap", &[&sequence], &body);
        self.read(&mapped, 2)
    }

    /// A loop that inserts into a sequence.
    fn collected_sequence(&mut self) -> Option<()> {
        if self.opset < 13 {
            return None;
        }
        let x =
            self.pick(|value| value.elem == "float" && value.rank() > Some(0) && value.rank() < Some(4))?;
        let trips = self.trips()?;
        let empty = self.op("SequenceEmpty", &[], "");
        let [i, c, old] = ["i", "go", "old"].map(|prefix| self.fresh(prefix));
        self.begin();
        let d = self.op("Identity", &[&c], "");
        let new = self.op("SequenceInsert", &[&old, &x.name], "");
        let body = self.end();
        let body = format!("body = b (int64 {i}, bool {c}, seq(float[]) {old}) => ({d}, {new}) {{ {body} }}");
        let sequence = self.op("Loop", &[&trips, "", &empty], &body);
        self.op("SequenceLength", &[&sequence], "");
        self.op("ConcatFromSequence", &[&sequence], "axis = 0");
        Some(())
    }
}
