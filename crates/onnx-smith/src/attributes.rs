//! Attributes that no recipe has set: required ones, and some of the others.

use onnx_ir::AttrValue;
use onnx_schema::{AttrKind, FormalAttribute, TypeForm, attr};
use onnx_types::{ElemType, Symbol, Type};

use crate::draft::Draft;
use crate::elements;

/// Probability, in percent, that an optional attribute is given.
const OPTIONAL: usize = 35;

impl Draft<'_, '_> {
    /// Sets the required attributes that are open, and some of the optional ones.
    pub(crate) fn fill_attributes(&mut self) {
        for formal in self.schema.attributes() {
            if !self.is_open(formal.name) || !(formal.is_required || self.smith.choices.chance(OPTIONAL)) {
                continue;
            }
            if let Some(value) = self.attribute_value(formal) {
                self.set(formal.name, value);
            }
        }
    }

    fn attribute_value(&mut self, formal: &FormalAttribute) -> Option<AttrValue> {
        Some(match formal.kind {
            AttrKind::Int => AttrValue::Int(self.integer(formal.name)?),
            AttrKind::Ints => AttrValue::Ints(self.integers(formal)?),
            AttrKind::Float => {
                let numbers = [0.5, 1.0, 0.25, 2.0, 0.0, -1.0, 1e-5];
                AttrValue::Float(self.smith.choices.pick(&numbers)?)
            }
            AttrKind::Floats if formal.is_required => AttrValue::Floats(vec![1.0, 0.5]),
            AttrKind::String => {
                let words = self.schema.choices(formal.name);
                let open: &[&str] = if formal.is_required { &["a"] } else { &[] };
                self.smith.choices.pick(words.unwrap_or(open))?.into()
            }
            AttrKind::Tensor if formal.is_required => {
                elements::tensor(ElemType::Float, &[2], &[1, 2])?.into()
            }
            AttrKind::TypeProto if formal.is_required => {
                std::sync::Arc::new(Type::tensor(ElemType::Float, None)).into()
            }
            _ => return None,
        })
    }

    /// An integer for an attribute of this name.
    fn integer(&mut self, name: Symbol) -> Option<i64> {
        match name {
            attr::AXIS | attr::BATCH_AXIS | attr::TIME_AXIS => return self.axis(),
            attr::TO | attr::DTYPE | attr::OUTPUT_DTYPE | attr::OUTPUT_DATATYPE => return self.elem_code(0),
            attr::STASH_TYPE | attr::SOFTMAX_PRECISION | attr::PRECISION => return Some(1),
            attr::SEED => return Some(7),
            _ => {}
        }
        let range = self.schema.attribute_range(name);
        let (least, most) =
            range.map_or((0, 1), |range| (*range.start(), (*range.end()).min(range.start() + 2)));
        Some(self.smith.choices.int(least, most))
    }

    /// An axis of the first operand, counted from the front or from the back.
    pub(crate) fn axis(&mut self) -> Option<i64> {
        let rank = i64::try_from(self.shape(0)?.len()).ok()?;
        if rank == 0 {
            return None;
        }
        let axis = self.smith.choices.int(0, rank - 1);
        // Before version 11 few operators take negative axes.
        let is_early = self.schema.domain().is_empty() && self.since() < 11;
        Some(if !is_early && self.smith.choices.chance(30) { axis - rank } else { axis })
    }

    /// The code of one of the element types that an output may have.
    pub(crate) fn elem_code(&mut self, output: usize) -> Option<i64> {
        let formal = self.schema.output_for(output)?;
        let elems: Vec<i64> = self
            .schema
            .types_of(formal)
            .iter()
            .filter_map(|id| match id.form() {
                TypeForm::Tensor(elem) => Some(i64::from(elem.code())),
                _ => None,
            })
            .collect();
        self.smith.choices.pick(&elems)
    }

    fn integers(&mut self, formal: &FormalAttribute) -> Option<Vec<i64>> {
        match formal.name {
            attr::AXES => {
                let rank = self.shape(0)?.len();
                Some(self.axes(rank))
            }
            attr::PERM => {
                let rank = self.shape(0)?.len();
                Some(self.permutation(rank))
            }
            _ if formal.is_required => Some(vec![1, 2]),
            _ => None,
        }
    }

    /// Some of the axes of a tensor, each once, in order.
    pub(crate) fn axes(&mut self, rank: usize) -> Vec<i64> {
        let mut axes = Vec::new();
        for axis in 0..rank {
            if self.smith.choices.chance(50) {
                axes.push(axis as i64);
            }
        }
        if axes.is_empty() && rank > 0 {
            axes.push(self.smith.choices.below(rank) as i64);
        }
        axes
    }

    /// The axes of a tensor in any order.
    pub(crate) fn permutation(&mut self, rank: usize) -> Vec<i64> {
        let mut left: Vec<i64> = (0..rank as i64).collect();
        let mut order = Vec::with_capacity(rank);
        while !left.is_empty() {
            let index = self.smith.choices.below(left.len());
            order.push(left.remove(index));
        }
        order
    }

    /// Sets an attribute to a list of `count` floats.
    pub(crate) fn set_floats(&mut self, name: Symbol, count: usize) {
        let numbers = (0..count).map(|index| (index % 3) as f32 + 0.5).collect::<Vec<f32>>();
        self.set(name, numbers);
    }

    /// Sets a string attribute list.
    pub(crate) fn set_strings<'a>(&mut self, name: Symbol, texts: impl IntoIterator<Item = &'a str>) {
        let texts =
            texts.into_iter().map(|text| bytes::Bytes::copy_from_slice(text.as_bytes())).collect::<Vec<_>>();
        self.set(name, AttrValue::Strings(texts));
    }
}
