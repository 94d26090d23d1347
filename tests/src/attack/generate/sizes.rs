//! Programs that compute sizes from sizes, as vectors of one integer.

use super::world::{Value, World};

impl World {
    /// A vector of one integer that is computed from sizes of values, with a bound on its depth.
    pub fn size(&mut self, depth: usize) -> Option<String> {
        if depth == 0 {
            return self.base();
        }
        match self.rng.below(12) {
            0 | 1 => self.base(),
            2..=5 => self.binary(depth),
            6 => self.through_float(depth),
            7 => self.chosen(depth),
            8 => self.gathered(depth),
            9 => self.unary(depth),
            10 => self.branched(depth),
            _ => self.detour(depth),
        }
    }

    /// A size of a value, or a number.
    fn base(&mut self) -> Option<String> {
        if self.rng.percent(20) {
            let number = self.rng.between(0, 5);
            return Some(self.ints(&[number]));
        }
        let x = self.pick(|value| value.rank().is_some() && !value.elem.is_empty())?;
        let rank = x.rank()?;
        if rank == 0 || self.rng.percent(8) {
            let size = self.op("Size", &[&x.name], "");
            return Some(self.unsqueeze(&size, &[0]));
        }
        let axis = self.rng.below(rank);
        let index = i64::try_from(axis).ok()?;
        if self.opset >= 15 && self.rng.percent(35) {
            let start = if self.rng.percent(50) { index } else { index - i64::try_from(rank).ok()? };
            let end = start + 1;
            let attributes =
                if end == 0 { format!("start = {start}") } else { format!("start = {start}, end = {end}") };
            return Some(self.op("Shape", &[&x.name], &attributes));
        }
        let shape = self.op("Shape", &[&x.name], "");
        match self.rng.below(10) {
            0 => Some(self.reduce("ReduceProd", &shape, Some(&[0]), true)),
            1 => Some(self.reduce("ReduceMax", &shape, Some(&[0]), true)),
            2 => Some(self.reduce("ReduceSum", &shape, None, true)),
            3 => Some(self.op("Shape", &[&shape], "")),
            4 if rank > 1 => {
                let sizes = vec![1; rank];
                Some(self.split(&shape, &sizes, 0).swap_remove(axis))
            }
            _ => {
                let index = if self.rng.percent(50) && self.opset >= 11 {
                    index - i64::try_from(rank).ok()?
                } else {
                    index
                };
                Some(self.element(&shape, index))
            }
        }
    }

    fn binary(&mut self, depth: usize) -> Option<String> {
        let a = self.size(depth - 1)?;
        let b = if self.rng.percent(55) {
            let number = self.rng.of(&[1, 2, 2, 3, 4, 7, -1]);
            if self.rng.percent(30) { self.scalar(number) } else { self.ints(&[number]) }
        } else {
            self.size(depth - 1)?
        };
        let op = self.rng.of(&["Add", "Add", "Sub", "Sub", "Mul", "Mul", "Div", "Mod", "Min", "Max", "Fmod"]);
        let (a, b) =
            if self.rng.percent(25) && !matches!(op, "Div" | "Mod" | "Fmod") { (b, a) } else { (a, b) };
        Some(match op {
            // `Min`, `Max` and `Mod` of integers came later than the others.
            "Min" | "Max" if self.opset < 12 => self.op("Add", &[&a, &b], ""),
            "Mod" | "Fmod" if self.opset < 10 => self.op("Mul", &[&a, &b], ""),
            "Fmod" => self.op("Mod", &[&a, &b], "fmod = 1"),
            op => self.op(op, &[&a, &b], ""),
        })
    }

    fn through_float(&mut self, depth: usize) -> Option<String> {
        let a = self.size(depth - 1)?;
        let to = if self.rng.percent(80) { 1 } else { 11 };
        let elem = if to == 1 { "float" } else { "double" };
        let float = self.op("Cast", &[&a], &format!("to = {to}"));
        let factor = self.rng.of(&["0.5", "2.0", "1.5", "0.25", "3.0", "0.75", "0.1", "-1.0"]);
        let factor = self.constant(elem, &format!("{{{factor}}}"));
        let op = self.rng.of(&["Mul", "Div", "Mul", "Add", "Sub"]);
        let scaled = self.op(op, &[&float, &factor], "");
        let rounded = match self.rng.below(5) {
            0 | 1 => self.op("Floor", &[&scaled], ""),
            2 | 3 => self.op("Ceil", &[&scaled], ""),
            _ => scaled,
        };
        Some(self.op("Cast", &[&rounded], "to = 7"))
    }

    /// A comparison of two sizes.
    pub fn condition(&mut self, depth: usize) -> Option<String> {
        let a = self.size(depth)?;
        let b = if self.rng.percent(50) {
            let number = self.rng.between(0, 4);
            self.ints(&[number])
        } else {
            self.size(depth)?
        };
        let ops: &[&str] = match self.opset {
            ..9 => &["Equal"],
            9..12 => &["Equal", "Less", "Greater"],
            _ => &["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"],
        };
        let op = self.rng.of(ops);
        let compared = self.op(op, &[&a, &b], "");
        Some(match self.rng.below(5) {
            0 => self.op("Not", &[&compared], ""),
            1 if depth > 0 => {
                let other = self.condition(depth - 1)?;
                let op = self.rng.of(&["And", "Or", "Xor"]);
                self.op(op, &[&compared, &other], "")
            }
            _ => compared,
        })
    }

    fn chosen(&mut self, depth: usize) -> Option<String> {
        if self.opset < 9 {
            return self.binary(depth);
        }
        let condition = self.condition(depth - 1)?;
        let (a, b) = (self.size(depth - 1)?, self.size(depth - 1)?);
        Some(self.op("Where", &[&condition, &a, &b], ""))
    }

    /// An element of several sizes, or what all of them are together.
    fn gathered(&mut self, depth: usize) -> Option<String> {
        let (a, b) = (self.size(depth - 1)?, self.size(depth - 1)?);
        let c = self.ints(&[3]);
        let all = self.op("Concat", &[&a, &b, &c], "axis = 0");
        Some(match self.rng.below(9) {
            0 => self.reduce("ReduceSum", &all, Some(&[0]), true),
            1 => self.reduce("ReduceMin", &all, None, true),
            2 => self.reduce("ReduceProd", &all, Some(&[0]), true),
            3 if self.opset >= 11 => {
                let axis = self.scalar(0);
                let sums = self.op("CumSum", &[&all, &axis], "");
                self.element(&sums, 1)
            }
            4 if self.opset >= 11 => {
                let k = self.ints(&[1]);
                self.ops("TopK", &[&all, &k], "axis = 0", 2).swap_remove(0)
            }
            5 if self.opset >= 11 => {
                let (at, new) = (self.ints(&[1]), self.ints(&[2]));
                let op = if self.opset >= 18 { "ScatterElements" } else { "Scatter" };
                let op = if self.opset >= 11 { "ScatterElements" } else { op };
                let scattered = self.op(op, &[&all, &at, &new], "axis = 0");
                self.element(&scattered, 1)
            }
            6 if self.opset >= 10 => {
                let reversed = self.slice(&all, -1, -100, 0, -1);
                self.element(&reversed, 0)
            }
            7 => {
                let wide = self.unsqueeze(&all, &[0]);
                let turned = self.op("Transpose", &[&wide], "perm = [1, 0]");
                let flat = self.ints(&[-1]);
                let again = self.op("Reshape", &[&turned, &flat], "");
                self.element(&again, 0)
            }
            _ => self.element(&all, 1),
        })
    }

    fn unary(&mut self, depth: usize) -> Option<String> {
        let a = self.size(depth - 1)?;
        Some(match self.rng.below(5) {
            0 => self.op("Neg", &[&a], ""),
            1 => self.op("Abs", &[&a], ""),
            2 if self.opset >= 12 => {
                let (low, high) = (self.scalar(1), self.scalar(3));
                self.op("Clip", &[&a, &low, &high], "")
            }
            3 => {
                let to = self.rng.of(&[6, 6, 11, 1]);
                let cast = self.op("Cast", &[&a], &format!("to = {to}"));
                self.op("Cast", &[&cast], "to = 7")
            }
            4 if self.opset >= 13 => self.op("Sign", &[&a], ""),
            _ => self.op("Identity", &[&a], ""),
        })
    }

    /// A size from a branch that depends on sizes.
    fn branched(&mut self, depth: usize) -> Option<String> {
        let condition = self.condition(0)?;
        let condition = self.squeeze(&condition, Some(&[0]));
        let (a, b) = (self.size(depth - 1)?, self.size(depth - 1)?);
        let (p, q) = (self.fresh("v"), self.fresh("v"));
        let other = self.rng.of(&["Add", "Sub", "Mul"]);
        let (m, n) = (self.fresh("n"), self.fresh("n"));
        let branches = format!(
            "then_branch = t () => ({p}) {{ [{m}b] {p} = Identity ({a}) }}, \
             else_branch = e () => ({q}) {{ [{n}b] {q} = {other} ({a}, {b}) }}"
        );
        Some(self.op("If", &[&condition], &branches))
    }

    /// The same size on a way round.
    fn detour(&mut self, depth: usize) -> Option<String> {
        let a = self.size(depth - 1)?;
        let scalar = self.to_scalar(&a);
        Some(match self.rng.below(6) {
            0 if self.opset >= 11 => {
                let (zero, one) = (self.scalar(0), self.scalar(1));
                let range = self.op("Range", &[&zero, &scalar, &one], "");
                self.op("Shape", &[&range], "")
            }
            1 if self.opset >= 9 => {
                let zeros = self.op("ConstantOfShape", &[&a], "");
                self.op("Shape", &[&zeros], "")
            }
            2 if self.opset >= 11 => {
                let sequence = self.op("SequenceConstruct", &[&a, &a], "");
                let at = self.rng.of(&[0, -1]);
                let at = self.scalar(at);
                self.op("SequenceAt", &[&sequence, &at], "")
            }
            3 if self.opset >= 13 => self.summed(&scalar),
            4 if self.opset >= 8 => {
                let shape = self.ints(&[3]);
                let wide = self.op("Expand", &[&a, &shape], "");
                self.element(&wide, -1)
            }
            _ => self.unsqueeze(&scalar, &[0]),
        })
    }

    /// The sum of the numbers below a size, or twice the size, by a loop.
    fn summed(&mut self, trips: &str) -> String {
        let start = self.ints(&[1]);
        let step = self.ints(&[2]);
        let [i, go, old, new, m] = ["i", "go", "old", "new", "n"].map(|prefix| self.fresh(prefix));
        let body = format!(
            "body = b (int64 {i}, bool {go}, int64[1] {old}) => ({go}, {new}) {{ [{m}b] {new} = Add ({old}, {step}) }}"
        );
        self.op("Loop", &[trips, "", &start], &body)
    }

    /// A vector that has sizes in it, each computed, for operators that take a shape.
    pub fn shape(&mut self, rank: usize, depth: usize) -> Option<String> {
        let parts: Vec<String> = (0..rank).map(|_| self.size(depth)).collect::<Option<_>>()?;
        if parts.is_empty() {
            return Some(self.constant("int64[0]", "{}"));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some(self.op("Concat", &parts, "axis = 0"))
    }

    /// The value of one element with each binding, where it is known with the first.
    pub fn number(&mut self, vector: &str) -> Option<i64> {
        let value: Value = self.look(vector)?;
        value.elements()?.first().copied()
    }
}
