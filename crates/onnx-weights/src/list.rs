//! The weights of a model, with names.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{FunctionId, Model, NodeId, TensorHolder, TensorPart, TensorPlace, ValueId};
use onnx_schema::attr;
use onnx_types::tensor::{DataSource, Tensor};

use crate::compare::in_memory;
use crate::replace::WeightError;

/// A tensor of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Weight<'m> {
    /// The name of the initializer or, for the attributes `value` and `sparse_value`, of the first output of the node; for
    /// other attributes `HOLDER.ATTRIBUTE`, with the name of the node or function. If the node has no name, its first output
    /// is the holder. `[1]` and so on is appended to the later tensors of a list, and `.values` or `.indices` to the parts of
    /// a sparse tensor. If several tensors would have the same name, `#2`, `#3` and so on are appended to the later ones, so
    /// names are unique in a model.
    pub name: String,
    /// The site of the tensor.
    pub place: TensorPlace,
    /// The value of an initializer, or the first output of the node that has the tensor as an attribute.
    pub value: Option<ValueId>,
    /// The tensor.
    pub tensor: &'m Tensor,
}

impl Weight<'_> {
    /// Number of bytes of the elements in the canonical form; for strings, the sum of their lengths.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tensor.byte_len().unwrap_or_else(|| self.tensor.payload().resident_bytes())
    }

    /// The tensor with its elements in memory, in canonical form. A tensor of one repeated element stays one.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is invalid, or its elements cannot be read.
    pub fn load(&self, source: &dyn DataSource) -> Result<Tensor, WeightError> {
        let error = |source| WeightError::Named { name: self.name.clone(), source };
        in_memory((self.tensor, source)).map_err(error)
    }

    /// Number of elements; 0 if there are too many to count.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.tensor.element_count().unwrap_or_default()
    }
}

/// All tensors of a model, in the order of [`Model::for_each_tensor`]. No elements are read.
#[must_use]
pub fn weights(model: &Model) -> Vec<Weight<'_>> {
    let mut all = Vec::new();
    let mut names = Names::default();
    model.for_each_tensor(|place, tensor| {
        let (name, value) = match place.holder {
            TensorHolder::Initializer(value) => {
                (model.str(model.value(value).name()).to_owned(), Some(value))
            }
            TensorHolder::Attribute(node, index) => of_node(model, node, index),
            TensorHolder::Default(function, index) => (of_function(model, function, index), None),
        };
        all.push(Weight { name: names.unique(part(name, place)), place, value, tensor });
    });
    all
}

/// The name with what tells the tensors of one holder apart.
fn part(mut name: String, place: TensorPlace) -> String {
    if place.element > 0 {
        name.push_str(&format!("[{}]", place.element));
    }
    match place.part {
        TensorPart::Dense => {}
        TensorPart::SparseValues => name.push_str(".values"),
        TensorPart::SparseIndices => name.push_str(".indices"),
    }
    name
}

fn of_node(model: &Model, node: NodeId, index: usize) -> (String, Option<ValueId>) {
    let record = model.node(node);
    let value = record.outputs().iter().flatten().next().copied();
    let of_value = value.map_or("", |value| model.str(model.value(value).name()));
    let attribute = record.attributes().get(index).map(onnx_ir::Attribute::name);
    match attribute {
        Some(attr::VALUE | attr::SPARSE_VALUE) | None => (of_value.to_owned(), value),
        Some(other) => {
            let own = model.str(record.name());
            let holder = if own.is_empty() { of_value } else { own };
            (format!("{holder}.{}", model.str(other)), value)
        }
    }
}

fn of_function(model: &Model, function: FunctionId, index: usize) -> String {
    let record = model.function(function);
    let attribute = record.defaults.get(index).map_or("", |default| model.str(default.name()));
    format!("{}.{attribute}", model.str(record.name()))
}

/// Names that were given.
#[derive(Default)]
struct Names {
    /// Each name with the number of the last one that was derived from it.
    taken: HashMap<String, u64, RandomState>,
}

impl Names {
    fn unique(&mut self, name: String) -> String {
        let Some(mut number) = self.taken.get(&name).copied() else {
            self.taken.insert(name.clone(), 1);
            return name;
        };
        loop {
            number = number.saturating_add(1);
            let candidate = format!("{name}#{number}");
            if !self.taken.contains_key(&candidate) {
                self.taken.insert(candidate.clone(), 1);
                self.taken.insert(name, number);
                return candidate;
            }
        }
    }
}
