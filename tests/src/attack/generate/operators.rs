//! Operators whose form depends on the version: operands that were attributes once.

use super::world::World;

/// Numbers as a list of attributes or elements.
#[must_use]
pub(super) fn list(numbers: &[i64]) -> String {
    format!("[{}]", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
}

impl World {
    /// An axis as it is, or counted from the end where the version has that.
    pub fn axis(&mut self, axis: usize, rank: usize) -> i64 {
        let is_negative = self.opset >= 13 && self.rng.percent(40);
        let axis = i64::try_from(axis).unwrap_or(0);
        if is_negative { axis - i64::try_from(rank).unwrap_or(0) } else { axis }
    }

    /// `Unsqueeze`.
    pub fn unsqueeze(&mut self, x: &str, axes: &[i64]) -> String {
        if self.opset >= 13 {
            let axes = self.ints(axes);
            return self.op("Unsqueeze", &[x, &axes], "");
        }
        self.op("Unsqueeze", &[x], &format!("axes = {}", list(axes)))
    }

    /// `Squeeze` of these axes; of all of size 1 where there are none.
    pub fn squeeze(&mut self, x: &str, axes: Option<&[i64]>) -> String {
        match axes {
            None => self.op("Squeeze", &[x], ""),
            Some(axes) if self.opset >= 13 => {
                let axes = self.ints(axes);
                self.op("Squeeze", &[x, &axes], "")
            }
            Some(axes) => self.op("Squeeze", &[x], &format!("axes = {}", list(axes))),
        }
    }

    /// `Slice` along one axis by constants.
    pub fn slice(&mut self, x: &str, start: i64, end: i64, axis: i64, step: i64) -> String {
        if self.opset < 10 {
            let attributes = format!("starts = [{start}], ends = [{end}], axes = [{axis}]");
            return self.op("Slice", &[x], &attributes);
        }
        let (start, end) = (self.ints(&[start]), self.ints(&[end]));
        self.slice_by(x, &start, &end, axis, step)
    }

    /// `Slice` along one axis by values; from version 10.
    pub fn slice_by(&mut self, x: &str, start: &str, end: &str, axis: i64, step: i64) -> String {
        let axes = self.ints(&[axis]);
        if step == 1 && self.rng.percent(60) {
            return self.op("Slice", &[x, start, end, &axes], "");
        }
        let step = self.ints(&[step]);
        self.op("Slice", &[x, start, end, &axes, &step], "")
    }

    /// An operator of the family `Reduce…`; of all axes where there are none.
    pub fn reduce(&mut self, op: &str, x: &str, axes: Option<&[i64]>, keep: bool) -> String {
        let keep = format!("keepdims = {}", i64::from(keep));
        let by_operand = self.opset >= if op == "ReduceSum" { 13 } else { 18 };
        match axes {
            None => self.op(op, &[x], &keep),
            Some(axes) if by_operand => {
                let axes = self.ints(axes);
                self.op(op, &[x, &axes], &keep)
            }
            Some(axes) => self.op(op, &[x], &format!("axes = {}, {keep}", list(axes))),
        }
    }

    /// `Pad` with zeros.
    pub fn pad(&mut self, x: &str, pads: &[i64], mode: &str) -> String {
        if self.opset >= 11 {
            let pads = self.ints(pads);
            return self.op("Pad", &[x, &pads], &format!("mode = \"{mode}\""));
        }
        self.op("Pad", &[x], &format!("mode = \"{mode}\", pads = {}", list(pads)))
    }

    /// `Split` into parts of these sizes.
    pub fn split(&mut self, x: &str, sizes: &[i64], axis: i64) -> Vec<String> {
        let axis = format!("axis = {axis}");
        if self.opset >= 13 {
            let parts = self.ints(sizes);
            return self.ops("Split", &[x, &parts], &axis, sizes.len());
        }
        self.ops("Split", &[x], &format!("{axis}, split = {}", list(sizes)), sizes.len())
    }

    /// A vector of one element: an element of a vector.
    pub fn element(&mut self, vector: &str, index: i64) -> String {
        match self.rng.below(4) {
            0 => {
                let index = self.ints(&[index]);
                self.op("Gather", &[vector, &index], "axis = 0")
            }
            1 => {
                let index = self.scalar(index);
                let scalar = self.op("Gather", &[vector, &index], "");
                self.unsqueeze(&scalar, &[0])
            }
            2 => {
                let end = if index == -1 { i64::MAX } else { index + 1 };
                self.slice(vector, index, end, 0, 1)
            }
            _ => {
                let index = self.ints(&[index]);
                if self.opset >= 11 {
                    return self.op("GatherElements", &[vector, &index], "axis = 0");
                }
                self.op("Gather", &[vector, &index], "")
            }
        }
    }

    /// A scalar of a vector of one element.
    pub fn to_scalar(&mut self, vector: &str) -> String {
        match self.rng.below(3) {
            0 => self.squeeze(vector, Some(&[0])),
            1 => {
                let empty = self.constant("int64[0]", "{}");
                self.op("Reshape", &[vector, &empty], "")
            }
            _ => {
                let zero = self.scalar(0);
                self.op("Gather", &[vector, &zero], "")
            }
        }
    }
}
