//! Operators whose result has a computed size.

use super::operators::list;
use super::world::{Value, World};

/// Maximum number of elements of a value.
const LARGEST: i64 = 4000;

fn is_tensor(value: &Value) -> bool {
    value.rank().is_some() && !value.elem.is_empty() && value.elem != "string"
}

impl World {
    /// Makes a tensor whose size a program of sizes computes.
    pub fn sink(&mut self) -> Option<()> {
        let depth = self.rng.below(4);
        match self.rng.below(17) {
            0..=2 => self.reshaped(depth),
            3 | 4 => self.expanded(depth),
            5 => self.constant_of_shape(depth),
            6 => self.range(depth),
            7 => self.tiled(depth),
            8 | 9 => self.sliced(depth),
            10 => self.padded(depth),
            11 => self.resized(depth),
            12 => self.top(depth),
            13 => self.one_hot(depth),
            14 => self.parted(depth),
            15 => self.by_computed_axes(),
            _ => self.spread(depth),
        }
    }

    fn small(&mut self, vector: &str) -> Option<bool> {
        let value = self.look(vector)?;
        let fits = |at: &super::world::At| match &at.elements {
            Some(elements) => elements.iter().all(|element| element.is_none_or(|size| size.abs() <= 60)),
            None => true,
        };
        Some(value.at.iter().all(fits))
    }

    fn reshaped(&mut self, depth: usize) -> Option<()> {
        let x = self.pick(|value| is_tensor(value) && value.rank() < Some(5))?;
        let dims = x.dims()?;
        let rank = dims.len();
        // What exporters write: sizes of the operand itself, computed ones, 0 and -1.
        let shape = self.op("Shape", &[&x.name], "");
        let mut parts: Vec<String> = Vec::new();
        let mut free = self.rng.percent(70);
        let is_merged = rank > 1 && self.rng.percent(40);
        for (axis, &size) in dims.iter().enumerate().take(rank - usize::from(is_merged)) {
            let index = i64::try_from(axis).ok()?;
            let part = match self.rng.below(6) {
                0 if free => {
                    free = false;
                    self.ints(&[-1])
                }
                1 => self.ints(&[0]),
                2 => self.ints(&[size]),
                3 => {
                    let one = self.ints(&[1]);
                    let size = self.element(&shape, index);
                    self.op("Mul", &[&size, &one], "")
                }
                _ => self.element(&shape, index),
            };
            parts.push(part);
        }
        if is_merged {
            let last = i64::try_from(rank).ok()? - 1;
            let (a, b) = (self.element(&shape, last - 1), self.element(&shape, last));
            parts.pop();
            parts.push(if free { self.ints(&[-1]) } else { self.op("Mul", &[&a, &b], "") });
            free = false;
        }
        if free && self.rng.percent(50) {
            let at = self.rng.below(parts.len() + 1);
            let part = self.ints(&[-1]);
            parts.insert(at, part);
        } else if self.rng.percent(20) {
            let at = self.rng.below(parts.len() + 1);
            let part = self.size(depth)?;
            parts.insert(at, part);
        }
        if parts.is_empty() {
            return None;
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let target = self.op("Concat", &parts, "axis = 0");
        let is_zero = self.opset >= 14 && self.rng.percent(15);
        let y = self.op("Reshape", &[&x.name, &target], if is_zero { "allowzero = 1" } else { "" });
        if self.rng.percent(40) && rank > 1 {
            let perm: Vec<i64> = (0..self.look(&y)?.rank()? as i64).rev().collect();
            self.op("Transpose", &[&y], &format!("perm = {}", list(&perm)));
        }
        Some(())
    }

    fn expanded(&mut self, depth: usize) -> Option<()> {
        if self.opset < 8 {
            return None;
        }
        let x = self.pick(|value| is_tensor(value) && value.rank() < Some(4))?;
        let extra = self.rng.below(2);
        let rank = (x.rank()? + extra).max(1);
        let target = self.shape(rank, depth)?;
        let target = if self.opset >= 9 && self.rng.percent(50) {
            // Exporters write -1 for "as it is" and replace it.
            let ones = self.ints(&vec![1; rank]);
            let minus = self.ints(&vec![-1; rank]);
            let is_open = self.op("Equal", &[&target, &minus], "");
            self.op("Where", &[&is_open, &ones, &target], "")
        } else {
            target
        };
        self.small(&target)?.then_some(())?;
        self.op("Expand", &[&x.name, &target], "");
        Some(())
    }

    fn constant_of_shape(&mut self, depth: usize) -> Option<()> {
        if self.opset < 9 {
            return None;
        }
        let rank = self.rng.below(4);
        let target = self.shape(rank, depth)?;
        self.small(&target)?.then_some(())?;
        let value =
            self.rng.of(&["", "value = int64[1] {1}", "value = float[1] {2.0}", "value = bool[1] {1}"]);
        self.op("ConstantOfShape", &[&target], value);
        Some(())
    }

    fn range(&mut self, depth: usize) -> Option<()> {
        if self.opset < 11 {
            return None;
        }
        let limit = self.size(depth)?;
        self.small(&limit)?.then_some(())?;
        let mut limit = self.to_scalar(&limit);
        let mut start = if self.rng.percent(60) {
            self.scalar(0)
        } else {
            let size = self.size(depth)?;
            self.to_scalar(&size)
        };
        let step = self.rng.of(&[1, 1, 1, 2, 3, -1, -2]);
        if step < 0 {
            (start, limit) = (limit, start);
        }
        if self.rng.percent(15) {
            let (start, limit) = (self.op("Cast", &[&start], "to = 1"), self.op("Cast", &[&limit], "to = 1"));
            let step = self.rng.of(&[0.5, 1.0, 0.25, 1.5, 0.1]);
            let step = self.float(step);
            self.op("Range", &[&start, &limit, &step], "");
            return Some(());
        }
        let step = self.scalar(step);
        let range = self.op("Range", &[&start, &limit, &step], "");
        if self.rng.percent(50) {
            let (column, row) = (self.unsqueeze(&range, &[1]), self.unsqueeze(&range, &[0]));
            let op = if self.opset >= 9 { "Greater" } else { "Equal" };
            self.op(op, &[&column, &row], "");
        }
        Some(())
    }

    fn tiled(&mut self, depth: usize) -> Option<()> {
        let x = self.pick(|value| is_tensor(value) && value.rank() < Some(4) && value.rank() > Some(0))?;
        let count = self.shape(x.rank()?, depth)?;
        self.small(&count)?.then_some(())?;
        self.op("Tile", &[&x.name, &count], "");
        Some(())
    }

    fn sliced(&mut self, depth: usize) -> Option<()> {
        if self.opset < 10 {
            return None;
        }
        let x = self.pick(|value| is_tensor(value) && value.rank() > Some(0))?;
        let rank = x.rank()?;
        let axis = self.rng.below(rank);
        let axis = self.axis(axis, rank);
        let bound = |world: &mut Self| match world.rng.below(4) {
            0 => {
                let number = world.rng.of(&[0, 1, -1, 2, -2, 5, 100, -100, i64::MAX, i64::from(i32::MAX)]);
                Some(world.ints(&[number]))
            }
            1 => {
                let size = world.size(depth)?;
                Some(world.op("Neg", &[&size], ""))
            }
            _ => world.size(depth),
        };
        let (start, end) = (bound(self)?, bound(self)?);
        let step = self.rng.of(&[1, 1, 1, 1, 2, 3, -1, -2]);
        self.slice_by(&x.name, &start, &end, axis, step);
        Some(())
    }

    fn padded(&mut self, depth: usize) -> Option<()> {
        if self.opset < 11 {
            return None;
        }
        let x =
            self.pick(|value| value.elem == "float" && value.rank() > Some(0) && value.rank() < Some(4))?;
        let rank = x.rank()?;
        let pads = if self.opset >= 18 && self.rng.percent(40) {
            let pads = self.shape(2, depth)?;
            let axis = self.rng.below(rank);
            let axis = self.axis(axis, rank);
            let axes = self.ints(&[axis]);
            self.small(&pads)?.then_some(())?;
            self.op("Pad", &[&x.name, &pads, "", &axes], "");
            return Some(());
        } else {
            self.shape(2 * rank, depth.min(1))?
        };
        self.small(&pads)?.then_some(())?;
        self.op("Pad", &[&x.name, &pads], "");
        Some(())
    }

    fn resized(&mut self, depth: usize) -> Option<()> {
        if self.opset < 11 {
            return None;
        }
        let x = self.pick(|value| value.is_float(4))?;
        let shape = self.op("Shape", &[&x.name], "");
        let kept = self.slice(&shape, 0, 2, 0, 1);
        let wanted = self.shape(2, depth)?;
        self.small(&wanted)?.then_some(())?;
        let mode = self.rng.of(&["nearest", "linear"]);
        if self.opset >= 18 && self.rng.percent(40) {
            let policy = self.rng.of(&["stretch", "stretch", "not_larger", "not_smaller"]);
            let attributes =
                format!("mode = \"{mode}\", axes = [2, 3], keep_aspect_ratio_policy = \"{policy}\"");
            self.op("Resize", &[&x.name, "", "", &wanted], &attributes);
            return Some(());
        }
        let sizes = self.op("Concat", &[&kept, &wanted], "axis = 0");
        let absent = if self.opset >= 13 { String::new() } else { self.constant("float[0]", "{}") };
        self.op("Resize", &[&x.name, &absent, &absent, &sizes], &format!("mode = \"{mode}\""));
        Some(())
    }

    fn top(&mut self, depth: usize) -> Option<()> {
        if self.opset < 10 {
            return None;
        }
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let rank = x.rank()?;
        let axis = self.rng.below(rank);
        let size = {
            let shape = self.op("Shape", &[&x.name], "");
            self.element(&shape, i64::try_from(axis).ok()?)
        };
        let k = if self.rng.percent(60) && self.opset >= 12 {
            let other = self.size(depth)?;
            self.op("Min", &[&size, &other], "")
        } else {
            self.size(depth)?
        };
        self.ops("TopK", &[&x.name, &k], &format!("axis = {axis}"), 2);
        Some(())
    }

    fn one_hot(&mut self, depth: usize) -> Option<()> {
        if self.opset < 9 {
            return None;
        }
        let x = self.pick(|value| value.elem == "int64" && value.rank() < Some(3))?;
        let size = self.size(depth)?;
        self.small(&size)?.then_some(())?;
        let size = if self.rng.percent(50) { self.to_scalar(&size) } else { size };
        let values = self.constant("float[2]", "{0.0, 1.0}");
        let axis = self.rng.of(&[-1, 0]);
        self.op("OneHot", &[&x.name, &size, &values], &format!("axis = {axis}"));
        Some(())
    }

    fn parted(&mut self, depth: usize) -> Option<()> {
        let x = self.pick(|value| is_tensor(value) && value.rank() > Some(0))?;
        let rank = x.rank()?;
        let axis = self.rng.below(rank);
        let named = self.axis(axis, rank);
        if self.opset >= 18 && self.rng.percent(50) {
            let parts = self.rng.between(1, 4);
            let attributes = format!("axis = {named}, num_outputs = {parts}");
            self.ops("Split", &[&x.name], &attributes, usize::try_from(parts).ok()?);
            return Some(());
        }
        if self.opset < 13 || self.rng.percent(30) {
            self.ops("Split", &[&x.name], &format!("axis = {axis}"), 2);
            return Some(());
        }
        // The rest of what another part leaves.
        let shape = self.op("Shape", &[&x.name], "");
        let all = self.element(&shape, i64::try_from(axis).ok()?);
        let part = self.size(depth)?;
        let part = self.op("Min", &[&part, &all], "");
        let rest = self.op("Sub", &[&all, &part], "");
        let sizes = self.op("Concat", &[&part, &rest], "axis = 0");
        self.ops("Split", &[&x.name, &sizes], &format!("axis = {named}"), 2);
        Some(())
    }

    /// Axes that are computed from a rank.
    fn by_computed_axes(&mut self) -> Option<()> {
        if self.opset < 13 {
            return None;
        }
        let x = self.pick(|value| value.elem == "float" && value.rank() > Some(0))?;
        let shape = self.op("Shape", &[&x.name], "");
        let rank = self.op("Shape", &[&shape], "");
        let one = self.ints(&[1]);
        let axis = self.op("Sub", &[&rank, &one], "");
        match self.rng.below(3) {
            0 => self.op("Unsqueeze", &[&x.name, &axis], ""),
            1 => self.op("ReduceSum", &[&x.name, &axis], "keepdims = 0"),
            _ => {
                let wide = self.op("Unsqueeze", &[&x.name, &rank], "");
                self.op("Squeeze", &[&wide, &rank], "")
            }
        };
        Some(())
    }

    /// Other operators that take a size.
    fn spread(&mut self, depth: usize) -> Option<()> {
        match self.rng.below(5) {
            0 if self.opset >= 18 => {
                let x =
                    self.pick(|value| is_tensor(value) && value.elem == "float" && value.rank() > Some(0))?;
                let size = self.size(depth)?;
                self.small(&size)?.then_some(())?;
                let axis = self.rng.below(x.rank()?);
                self.op("CenterCropPad", &[&x.name, &size], &format!("axes = [{axis}]"));
            }
            1 if self.opset >= 17 => {
                let size = self.size(depth)?;
                self.small(&size)?.then_some(())?;
                let size = self.to_scalar(&size);
                let op = self.rng.of(&["HannWindow", "HammingWindow", "BlackmanWindow"]);
                self.op(op, &[&size], "");
            }
            2 if self.opset >= 14 => {
                let x = self.pick(|value| value.is_float(2) || value.is_float(3))?;
                let k = self.size(depth)?;
                let k = self.to_scalar(&k);
                self.op("Trilu", &[&x.name, &k], "upper = 0");
            }
            3 if self.opset >= 11 => {
                let x = self.pick(|value| is_tensor(value) && value.rank() > Some(0))?;
                let size = self.size(depth)?;
                self.small(&size)?.then_some(())?;
                let (zero, one, size) = (self.scalar(0), self.scalar(1), self.to_scalar(&size));
                let indices = self.op("Range", &[&zero, &size, &one], "");
                let axis = self.rng.below(x.rank()?);
                self.op("Gather", &[&x.name, &indices], &format!("axis = {axis}"));
            }
            _ => {
                let x = self.pick(|value| value.elem == "float" && value.rank().is_some())?;
                let size = self.size(depth)?;
                let float = self.op("Cast", &[&size], "to = 1");
                self.op("Mul", &[&x.name, &float], "");
            }
        }
        Some(())
    }

    /// Whether values are as small as values may be.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.values.iter().all(|value| {
            value.at.iter().all(|at| {
                let dims = at.dims.iter().flatten();
                dims.map(|dim| dim.unwrap_or(1).max(1))
                    .try_fold(1_i64, |a, b| a.checked_mul(b))
                    .is_some_and(|count| count <= LARGEST)
            })
        })
    }
}
