//! Layers that move, cut and choose elements.

use super::operators::list;
use super::world::World;

impl World {
    pub(super) fn turned(&mut self) -> Option<()> {
        let x = self.pick(|value| !value.elem.is_empty() && value.rank() > Some(1))?;
        let rank = x.rank()?;
        if self.rng.percent(30) {
            self.op("Transpose", &[&x.name], "");
            return Some(());
        }
        let mut perm: Vec<i64> = (0..rank as i64).collect();
        for at in (1..rank).rev() {
            let other = self.rng.below(at + 1);
            perm.swap(at, other);
        }
        self.op("Transpose", &[&x.name], &format!("perm = {}", list(&perm)));
        Some(())
    }

    pub(super) fn squeezed(&mut self) -> Option<()> {
        let x =
            self.pick(|value| !value.elem.is_empty() && value.rank().is_some() && value.rank() < Some(5))?;
        let dims = x.dims()?;
        let single = dims.iter().position(|&dim| dim == 1);
        match single {
            Some(axis) if self.rng.percent(60) => {
                if self.rng.percent(25) {
                    self.squeeze(&x.name, None);
                    return Some(());
                }
                let axis = self.axis(axis, dims.len());
                self.squeeze(&x.name, Some(&[axis]));
            }
            _ => {
                let axis = self.rng.below(dims.len() + 1);
                let axis = self.axis(axis, dims.len() + 1);
                self.unsqueeze(&x.name, &[axis]);
            }
        }
        Some(())
    }

    pub(super) fn einsum(&mut self) -> Option<()> {
        if self.opset < 12 {
            return None;
        }
        let x = self.pick(|value| value.is_float(2) || value.is_float(3))?;
        let dims = x.dims()?;
        let inner = *dims.last()?;
        let other = self.pick(|value| value.is_float(2) && value.dims().is_some_and(|dims| dims[0] == inner));
        let equation = match (dims.len(), other.is_some()) {
            (2, true) => self.rng.of(&["ij,jk->ik", "ij,jk", "ij,jk->ki", "...j,jk->...k"]),
            (3, true) => self.rng.of(&["bij,jk->bik", "bij,jk->ibk", "...j,jk->...k"]),
            (2, false) => self.rng.of(&["ij->ji", "ij->i", "ij->"]),
            _ => self.rng.of(&["bij->bji", "bij->bi", "b...->...b"]),
        };
        let mut names = vec![x.name.as_str()];
        names.extend(other.as_ref().map(|value| value.name.as_str()));
        self.op("Einsum", &names, &format!("equation = \"{equation}\""));
        Some(())
    }

    pub(super) fn cut(&mut self) -> Option<()> {
        let x = self.pick(|value| !value.elem.is_empty() && value.rank() > Some(0))?;
        let rank = x.rank()?;
        let axis = self.rng.below(rank);
        let named = self.axis(axis, rank);
        match self.rng.below(3) {
            0 => {
                let start = self.rng.of(&[0, 1, 2, -1, -2, -100]);
                let end = self.rng.of(&[1, 2, -1, 4, 100, i64::MAX]);
                let step = if self.opset >= 10 { self.rng.of(&[1, 1, 2, 3]) } else { 1 };
                self.slice(&x.name, start, end, named, step);
            }
            1 if self.opset >= 10 => {
                let start = self.rng.of(&[-1, 2, 100]);
                let end = self.rng.of(&[-100, 0, i64::MIN, -2]);
                let step = self.rng.of(&[-1, -2]);
                self.slice(&x.name, start, end, named, step);
            }
            _ if x.elem == "float" => {
                let mut pads: Vec<i64> = (0..2 * rank).map(|_| self.rng.of(&[0, 0, 1, 2, -1])).collect();
                let mode = self.rng.of(&["constant", "constant", "edge", "reflect"]);
                if mode == "reflect" {
                    pads.iter_mut().for_each(|pad| *pad = (*pad).clamp(0, 1));
                }
                self.pad(&x.name, &pads, mode);
            }
            _ => drop(self.op("Identity", &[&x.name], "")),
        }
        Some(())
    }

    pub(super) fn depth(&mut self) -> Option<()> {
        let x = self.pick(|value| value.is_float(4))?;
        let dims = x.dims()?;
        if dims[1] % 4 == 0 && dims[1] > 0 {
            let mode = self.rng.of(&["", ", mode = \"CRD\""]);
            let mode = if self.opset >= 11 { mode } else { "" };
            self.op("DepthToSpace", &[&x.name], &format!("blocksize = 2{mode}"));
        } else if dims[2] % 2 == 0 && dims[3] % 2 == 0 {
            self.op("SpaceToDepth", &[&x.name], "blocksize = 2");
        } else {
            let size = 3;
            self.op("LRN", &[&x.name], &format!("size = {size}"));
        }
        Some(())
    }

    /// Sizes that depend on elements.
    pub(super) fn by_data(&mut self) -> Option<()> {
        let x = self.pick(|value| value.elem == "float" && value.rank().is_some())?;
        let rank = x.rank()?;
        match self.rng.below(4) {
            0 if self.opset >= 9 && rank > 0 => {
                let found = self.op("NonZero", &[&x.name], "");
                let turned = self.op("Transpose", &[&found], "perm = [1, 0]");
                if self.opset >= 11 {
                    self.op("GatherND", &[&x.name, &turned], "");
                }
            }
            1 if self.opset >= 11 && rank > 0 => {
                self.ops("Unique", &[&x.name], "", 4);
            }
            2 if self.opset >= 9 => {
                let zero = self.float(0.0);
                let positive = self.op("Greater", &[&x.name, &zero], "");
                let flat = self.ints(&[-1]);
                let flags = self.op("Reshape", &[&positive, &flat], "");
                self.op("Compress", &[&x.name, &flags], "");
            }
            _ => {
                let indices = self.pick(|value| {
                    value.elem == "int64" && value.rank().is_some() && value.rank() < Some(3)
                })?;
                if rank == 0 {
                    return None;
                }
                let axis = self.rng.below(rank);
                let zero = self.scalar(0);
                let safe = self.op("Mul", &[&indices.name, &zero], "");
                self.op("Gather", &[&x.name, &safe], &format!("axis = {axis}"));
            }
        }
        Some(())
    }

    pub(super) fn compared(&mut self) -> Option<()> {
        if self.opset < 9 {
            return None;
        }
        let x = self.pick(|value| value.elem == "float" && value.rank().is_some())?;
        let dims = x.dims()?;
        let y = self.pick(|value| {
            value.elem == "float"
                && value.dims().is_some_and(|other| {
                    dims.iter().rev().zip(other.iter().rev()).all(|(&a, &b)| a == b || a == 1 || b == 1)
                })
        })?;
        let less = self.op("Less", &[&x.name, &y.name], "");
        let chosen = self.op("Where", &[&less, &x.name, &y.name], "");
        if self.rng.percent(40) {
            let to = self.rng.of(&[1, 6, 7, 9, 10, 11]);
            self.op("Cast", &[&chosen], &format!("to = {to}"));
        }
        Some(())
    }

    pub(super) fn flattened(&mut self) -> Option<()> {
        let x = self.pick(|value| !value.elem.is_empty() && value.rank().is_some())?;
        let rank = x.rank()?;
        let axis = self.rng.below(rank + 1) as i64;
        let axis = if self.opset >= 11 && self.rng.percent(40) { axis - rank as i64 } else { axis };
        let axis = if self.opset >= 11 || axis >= 0 { axis } else { 1 };
        self.op("Flatten", &[&x.name], &format!("axis = {axis}"));
        Some(())
    }
}
