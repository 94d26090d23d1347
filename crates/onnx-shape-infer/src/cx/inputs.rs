//! What is known about the inputs.

use onnx_ir::{Constant, Def, ValueId};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType};
use smallvec::SmallVec;

use super::{Cx, Outcome, Stop};
use crate::content::{Content, Elem};
use crate::facts::{Fact, FactScope, Relation, Strength};
use crate::fault::{SIZES_DIFFER, WRONG_RANK};
use crate::ty::{Dims, Ty};

impl<'m> Cx<'_, 'm> {
    /// How many inputs the node writes, absent ones between others included.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.node.input_count()
    }

    /// The value of an input; `None` if it is absent: not written, empty, or a formal input of a function that the call
    /// omits.
    #[must_use]
    pub fn input(&self, index: usize) -> Option<ValueId> {
        self.node.input(index).filter(|&value| !self.state.is_absent(value))
    }

    /// Whether an input is there.
    #[must_use]
    pub fn has_input(&self, index: usize) -> bool {
        self.input(index).is_some()
    }

    /// The type of an input.
    #[must_use]
    pub fn ty(&self, index: usize) -> Ty {
        self.input(index).map_or(Ty::Unknown, |value| self.state.table.ty(value))
    }

    /// The element type of a tensor input.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when it is not known. The same holds for the others below.
    pub fn elem(&self, index: usize) -> Outcome<ElemType> {
        self.input(index).and_then(|value| self.state.table.elem(value)).ok_or(Stop::Unknown)
    }

    /// The dimensions of a tensor input; each is a number, a symbol or an expression.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when its rank is not known.
    pub fn shape(&self, index: usize) -> Outcome<Dims> {
        self.input(index)
            .and_then(|value| self.state.table.dims(value))
            .map(Dims::from_slice)
            .ok_or(Stop::Unknown)
    }

    /// The input, among the first two, whose shape all inputs broadcast to because their sizes are the same or 1.
    pub(crate) fn widest_input(&self) -> Option<usize> {
        let table = &self.state.table;
        let dims = |index| self.input(index).and_then(|value| table.dims(value));
        let count = self.input_count();
        (0..count.min(2)).find(|&widest| {
            let Some(whole) = dims(widest) else { return false };
            let fits = |index| index == widest || dims(index).is_some_and(|dims| lies_in(dims, whole));
            (0..count).all(fits)
        })
    }

    /// The rank of a tensor input.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when it is not known.
    pub fn rank(&self, index: usize) -> Outcome<usize> {
        self.input(index)
            .and_then(|value| self.state.table.dims(value))
            .map(<[Dim]>::len)
            .ok_or(Stop::Unknown)
    }

    /// The dimensions of a tensor input that must have the given rank.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when its rank is not known, and a finding when it is another.
    pub fn shape_of_rank(&mut self, index: usize, rank: usize) -> Outcome<Dims> {
        let dims = self.shape(index)?;
        if dims.len() == rank {
            return Ok(dims);
        }
        let found = dims.len();
        Err(self.fail(&WRONG_RANK, format_args!("input {index} has rank {found} where {rank} is needed")))
    }

    /// The same where sizes that are not known do no harm: [`Dim::Unknown`] for each when the rank is not known, or the
    /// input is absent.
    ///
    /// # Errors
    ///
    /// With a finding when the rank is another one.
    pub fn dims_of_rank(&mut self, index: usize, rank: usize) -> Outcome<Dims> {
        match self.shape_of_rank(index, rank) {
            Err(Stop::Unknown) => Ok(Dims::from_elem(Dim::Unknown, rank)),
            known => known,
        }
    }

    /// Requires that an input has one element, whatever its rank is.
    ///
    /// # Errors
    ///
    /// With a finding when it has another number of elements.
    pub(crate) fn one_element(&mut self, index: usize, what: &str) -> Outcome {
        let ty = self.ty(index);
        self.is_one_element(&ty, what)
    }

    /// The same for a value that is not an input.
    pub(crate) fn is_one_element(&mut self, ty: &Ty, what: &str) -> Outcome {
        match ty.dims() {
            Some(dims) if dims.iter().any(|dim| matches!(dim, Dim::Known(size) if *size != 1)) => {
                Err(self.fail(&SIZES_DIFFER, format_args!("{what} does not have one element")))
            }
            _ => Ok(()),
        }
    }

    /// The dimensions of a tensor input that must have at least the given rank.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when its rank is not known, and a finding when it is smaller.
    pub fn shape_of_min_rank(&mut self, index: usize, rank: usize) -> Outcome<Dims> {
        let dims = self.shape(index)?;
        if dims.len() >= rank {
            return Ok(dims);
        }
        let found = dims.len();
        Err(self.fail(
            &WRONG_RANK,
            format_args!("input {index} has rank {found} where at least {rank} is needed"),
        ))
    }

    /// The elements of a small input, as far as they are known. Its shape is known then, and has as many elements.
    #[must_use]
    pub fn content(&mut self, index: usize) -> Option<Content> {
        let value = self.input(index)?;
        self.state.content(value)
    }

    /// The elements of an input that is a list of integers, or a single one, as dimensions, with [`Dim::Unknown`] for unknown
    /// elements; `None` if even their number is unknown.
    ///
    /// # Errors
    ///
    /// With a finding when the rank is more than 1.
    pub fn elements(&mut self, index: usize) -> Outcome<Option<Dims>> {
        self.is_list(index)?;
        if let Some(content) = self.content(index) {
            return Ok(Some(content.iter().map(|elem| elem.dim()).collect()));
        }
        let limit = self.state.options.execution.limits.inferred_rank;
        let count = match self.shape(index).as_deref() {
            Ok([]) => Some(1),
            Ok(&[Dim::Known(count)]) => usize::try_from(count).ok().filter(|&count| count <= limit),
            _ => None,
        };
        Ok(count.map(|count| SmallVec::from_elem(Dim::Unknown, count)))
    }

    /// Requires that an input can be a list: its rank is at most 1.
    ///
    /// # Errors
    ///
    /// With a finding when it is more.
    pub(crate) fn is_list(&mut self, index: usize) -> Outcome {
        match self.rank(index) {
            Ok(rank) if rank > 1 => {
                Err(self
                    .fail(&WRONG_RANK, format_args!("input {index} has rank {rank} where a list is needed")))
            }
            _ => Ok(()),
        }
    }

    /// The one element of an input, as a dimension.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when it is not known, or when there is not exactly one.
    pub fn scalar(&mut self, index: usize) -> Outcome<Dim> {
        match self.content(index).as_deref() {
            Some(&[Elem::Int(dim)]) => Ok(dim),
            _ => Err(Stop::Unknown),
        }
    }

    /// The numbers of an integer input, when all are known.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`] when one is not.
    pub fn numbers(&mut self, index: usize) -> Outcome<SmallVec<[i64; 6]>> {
        let content = self.content(index).ok_or(Stop::Unknown)?;
        content.iter().map(|elem| elem.known()).collect::<Option<_>>().ok_or(Stop::Unknown)
    }

    /// The greatest number of elements of a tensor that is followed.
    #[must_use]
    pub const fn content_limit(&self) -> usize {
        self.state.options.execution.limits.followed_elements
    }

    /// The tensor that an input always is, of any size and type: an initializer that no caller can override. Nothing of it
    /// has been read.
    #[must_use]
    pub fn constant(&self, index: usize) -> Option<&'m Tensor> {
        self.state.constant(self.input(index)?)
    }
}

impl<'m> crate::engine::state::State<'m> {
    /// The tensor that a value always is.
    pub(crate) fn constant(&self, value: ValueId) -> Option<&'m Tensor> {
        if let Some(tensor) = self.model.constant_tensor(value) {
            return Some(tensor);
        }
        let record = self.model.value(value);
        let is_input = matches!(record.def(), Def::Input { .. });
        if is_input && self.defaults_are_constant() {
            return record.initializer().map(AsRef::as_ref).and_then(Constant::dense);
        }
        None
    }

    /// Whether initializers that are inputs, too, count as constants. Before version 4 of the format every initializer had
    /// to be an input, so being one says nothing.
    pub(crate) const fn defaults_are_constant(&self) -> bool {
        self.options.assumed && (self.options.defaults_are_constant || self.model.info().ir_version < 4)
    }

    /// Records a guard if a value that was read as a constant is an input, which the caller may override.
    pub(crate) fn note_default(&mut self, value: ValueId) {
        if matches!(self.model.value(value).def(), Def::Input { .. }) {
            let relation = Relation::Default(value);
            // Once read, the elements are known in the whole model.
            let (scope, reason) =
                (FactScope::Model, "the initializer is also an input, which the caller can override");
            self.facts.add(Fact {
                relation,
                strength: Strength::Assumed,
                node: None,
                scope,
                reason,
                root: None,
                is_inherited: false,
            });
        }
    }

    /// The elements of a small value, as far as they are known.
    pub(crate) fn content(&mut self, value: ValueId) -> Option<Content> {
        if let Some(content) = self.table.content(value) {
            return Some(Content::clone(content));
        }
        let tensor = self.constant(value)?;
        self.note_default(value);
        let most = self.options.execution.limits.followed_elements;
        let content = self.elements_of(tensor, most, (None, Some(value)))?;
        self.table.set_content(value, Some(Content::clone(&content)));
        Some(content)
    }
}

/// Whether a shape broadcasts to another one because its sizes are the same or 1.
fn lies_in(dims: &[Dim], whole: &[Dim]) -> bool {
    let mut pairs = whole.iter().rev().zip(dims.iter().rev());
    dims.len() <= whole.len() && pairs.all(|(whole, dim)| dim == whole || *dim == Dim::Known(1))
}
