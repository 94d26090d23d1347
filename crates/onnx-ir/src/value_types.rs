//! Types of values, as a caller knows them.

use onnx_types::Type;

use crate::entity::ValueId;
use crate::model::Model;

/// The types of values, as far as they are known.
///
/// Code that needs types but does not infer them takes this trait. `Inference` of `onnx-shape-infer` implements it, and so
/// does [`DeclaredTypes`].
pub trait ValueTypes {
    /// The type of a value of `model`. Of its sizes those count that are numbers; dimension variables need not belong to the
    /// model.
    fn type_of(&self, model: &Model, value: ValueId) -> Option<Type>;

    /// The only element of a value of `model`, if it has one that is known to be an integer or a truth value.
    fn scalar_of(&self, _model: &Model, _value: ValueId) -> Option<i64> {
        None
    }
}

/// The types that a model declares, without any inference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeclaredTypes;

impl ValueTypes for DeclaredTypes {
    fn type_of(&self, model: &Model, value: ValueId) -> Option<Type> {
        model.ty(value).cloned()
    }
}
