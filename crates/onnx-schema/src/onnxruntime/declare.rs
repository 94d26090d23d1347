//! The operators of onnxruntime as declared operator sets, for tools that take a [`Registry`](crate::Registry).

use std::collections::BTreeMap;

use super::{RuntimeSchema, all};
use crate::declared_schemas::{
    DeclareError, DeclaredAttribute, DeclaredConstraint, DeclaredFormal, DeclaredSchema, DeclaredType,
    OperatorSet,
};
use crate::facts::SupportLevel;
use crate::signature::{Formal, FormalType};

/// The operators that onnxruntime adds, as operator sets: one for each version of a domain that has a schema.
///
/// ```
/// use onnx_schema::{Registry, onnxruntime};
///
/// let mut registry = Registry::standard();
/// for set in onnxruntime::operator_sets()? {
///     registry = registry.with(&set)?;
/// }
/// assert!(registry.declared("com.microsoft", "Attention", 1).is_some());
/// # Ok::<(), onnx_schema::DeclareError>(())
/// ```
///
/// # Errors
///
/// None for the facts of this crate; a test ensures it.
pub fn operator_sets() -> Result<Vec<OperatorSet>, DeclareError> {
    let mut sets: BTreeMap<(&str, i64), OperatorSet> = BTreeMap::new();
    for schema in all() {
        let (domain, version) = (schema.domain(), schema.since_version());
        let set = sets.entry((domain, version)).or_insert_with(|| OperatorSet::new(domain, version));
        set.add_schema(schema.into())?;
    }
    Ok(sets.into_values().collect())
}

impl From<&RuntimeSchema> for DeclaredSchema {
    fn from(schema: &RuntimeSchema) -> Self {
        let formals = |formals: &[Formal]| formals.iter().map(|formal| declared(schema, formal)).collect();
        let constraints = schema.constraints().iter().map(|constraint| DeclaredConstraint {
            variable: constraint.variable.to_owned(),
            types: constraint.types,
        });
        let attributes = schema.attributes().iter().map(|attribute| DeclaredAttribute {
            name: attribute.name.to_owned(),
            kind: Some(attribute.kind),
            is_required: attribute.is_required,
            default: attribute.default.map(Into::into),
        });
        let mut declared = Self::empty(schema.domain(), schema.name(), schema.since_version());
        declared.is_deprecated = schema.is_deprecated();
        if schema.is_experimental() {
            declared.support = SupportLevel::Experimental;
        }
        declared.inputs = formals(schema.inputs());
        declared.outputs = formals(schema.outputs());
        declared.constraints = constraints.collect();
        declared.attributes = attributes.collect();
        declared.has_inference = schema.has_inference();
        declared
    }
}

fn declared(schema: &RuntimeSchema, formal: &Formal) -> DeclaredFormal {
    let ty = match formal.ty {
        FormalType::Concrete(id) => DeclaredType::Concrete(id),
        FormalType::Variable(index) => {
            let constraint = schema.constraints().get(usize::from(index));
            constraint.map_or(DeclaredType::Any, |found| DeclaredType::Variable(found.variable.to_owned()))
        }
    };
    DeclaredFormal {
        name: formal.name.to_owned(),
        ty,
        option: formal.option,
        min_arity: formal.min_arity,
        is_homogeneous: formal.is_homogeneous,
        differentiation: formal.differentiation,
    }
}
