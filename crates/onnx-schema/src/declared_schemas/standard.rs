//! Standard schemas as declared ones, so that both can be compared, shown and written alike.

use std::sync::Arc;

use super::{DeclaredAttribute, DeclaredConstraint, DeclaredFormal, DeclaredSchema, DeclaredType};
use crate::facts::Schema;
use crate::signature::{Formal, FormalType};

impl From<&Schema> for DeclaredSchema {
    fn from(schema: &Schema) -> Self {
        let formals =
            |formals: &[Formal]| formals.iter().map(|formal| declared_formal(schema, formal)).collect();
        Self {
            is_deprecated: schema.is_deprecated(),
            support: schema.support_level(),
            determinism: schema.determinism(),
            inputs: formals(schema.inputs()),
            outputs: formals(schema.outputs()),
            constraints: schema
                .constraints()
                .iter()
                .map(|constraint| DeclaredConstraint {
                    variable: constraint.variable.to_owned(),
                    types: constraint.types,
                })
                .collect(),
            attributes: schema
                .attributes()
                .iter()
                .map(|attribute| DeclaredAttribute {
                    name: attribute.text().to_owned(),
                    kind: Some(attribute.kind),
                    is_required: attribute.is_required,
                    default: attribute.default.map(Into::into),
                })
                .collect(),
            input_counts: schema.input_counts().to_vec(),
            output_counts: schema.output_counts().to_vec(),
            allows_unchecked_attributes: schema.allows_unchecked_attributes(),
            has_inference: schema.has_inference(),
            has_data_propagation: schema.has_data_propagation(),
            bodies: schema.function_bodies().map(|(version, body)| (version, Arc::from(body))).collect(),
            context_function_versions: schema
                .context_function_versions()
                .iter()
                .map(|&version| version.into())
                .collect(),
            ..Self::new(schema.domain_name(), schema.name(), schema.since_version())
        }
    }
}

fn declared_formal(schema: &Schema, formal: &Formal) -> DeclaredFormal {
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
