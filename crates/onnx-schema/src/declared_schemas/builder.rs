//! Declaring an operator in code.

use super::{
    DeclareError, DeclaredAttribute, DeclaredConstraint, DeclaredDefault, DeclaredFormal, DeclaredSchema,
    DeclaredType,
};
use crate::attribute::AttrKind;
use crate::facts::{Determinism, SupportLevel};
use crate::signature::{Differentiation, FormalOption};
use crate::typeset::{TypeId, TypeSet};

/// Begins the declaration of an operator that exists since the given version of its operator set.
///
/// ```
/// use onnx_schema::{AttrKind, DeclaredDefault, OperatorSet, Registry, declare};
///
/// let mut acme = OperatorSet::new("com.acme", 2);
/// acme.add(
///     declare("FusedGemm", 1)
///         .input("A", "T")
///         .input("B", "T")
///         .optional_input("bias", "T")
///         .output("Y", "T")
///         .types("T", ["tensor(float)", "tensor(float16)"])
///         .required_attribute("activation", AttrKind::String)
///         .attribute_with_default("alpha", DeclaredDefault::Float(1.0)),
/// )?;
/// let registry = Registry::standard().with(&acme)?;
///
/// let gemm = registry.declared("com.acme", "FusedGemm", 2).expect("it was declared");
/// assert_eq!(gemm.to_string(), "com.acme.FusedGemm-1");
/// assert_eq!((gemm.min_inputs(), gemm.max_inputs()), (2, Some(3)));
/// # Ok::<(), onnx_schema::DeclareError>(())
/// ```
pub fn declare(name: &str, since_version: i64) -> Declaration {
    Declaration {
        schema: DeclaredSchema::new("", name, since_version),
        inputs: Vec::new(),
        outputs: Vec::new(),
        types: Vec::new(),
    }
}

/// An operator that is being declared: see [`declare`]. [`OperatorSet::add`](crate::OperatorSet::add) ends it and says
/// what does not fit.
#[derive(Clone, Debug)]
#[must_use]
pub struct Declaration {
    schema: DeclaredSchema,
    inputs: Vec<(DeclaredFormal, String)>,
    outputs: Vec<(DeclaredFormal, String)>,
    types: Vec<(String, Vec<String>)>,
}

impl Declaration {
    /// Adds an input that every node has. The type is a variable of [`types`](Self::types), a type such as
    /// `tensor(int64)`, or empty for any type.
    pub fn input(self, name: &str, ty: &str) -> Self {
        self.input_as(name, ty, FormalOption::Single)
    }

    /// Adds an input that nodes may leave out.
    pub fn optional_input(self, name: &str, ty: &str) -> Self {
        self.input_as(name, ty, FormalOption::Optional)
    }

    /// Adds an input that takes any number of values of one type from `min_arity`, 0 or 1, on; it must be the last one.
    pub fn variadic_input(mut self, name: &str, ty: &str, min_arity: u8) -> Self {
        let formal = DeclaredFormal { min_arity, ..formal(name, FormalOption::Variadic) };
        self.inputs.push((formal, ty.to_owned()));
        self
    }

    /// Adds an output that every node has; for the type see [`input`](Self::input).
    pub fn output(self, name: &str, ty: &str) -> Self {
        self.output_as(name, ty, FormalOption::Single)
    }

    /// Adds an output that nodes may leave out.
    pub fn optional_output(self, name: &str, ty: &str) -> Self {
        self.output_as(name, ty, FormalOption::Optional)
    }

    /// Adds an output that gives any number of values of one type from `min_arity`, 0 or 1, on; it must be the last one.
    pub fn variadic_output(mut self, name: &str, ty: &str, min_arity: u8) -> Self {
        let formal = DeclaredFormal { min_arity, ..formal(name, FormalOption::Variadic) };
        self.outputs.push((formal, ty.to_owned()));
        self
    }

    /// Lets the values of the variadic input or output that was added last have different types of the set.
    pub fn heterogeneous(mut self) -> Self {
        let last = if self.outputs.is_empty() { self.inputs.last_mut() } else { self.outputs.last_mut() };
        if let Some((formal, _)) = last {
            formal.is_homogeneous = false;
        }
        self
    }

    /// Sets the types that a type variable may stand for.
    pub fn types<'t>(mut self, variable: &str, types: impl IntoIterator<Item = &'t str>) -> Self {
        self.types.push((variable.to_owned(), types.into_iter().map(str::to_owned).collect()));
        self
    }

    /// Adds an optional attribute whose absence has a separate meaning.
    pub fn attribute(self, name: &str, kind: AttrKind) -> Self {
        self.attribute_as(DeclaredAttribute {
            name: name.to_owned(),
            kind: Some(kind),
            is_required: false,
            default: None,
        })
    }

    /// Adds an attribute that every node gives.
    pub fn required_attribute(self, name: &str, kind: AttrKind) -> Self {
        self.attribute_as(DeclaredAttribute {
            name: name.to_owned(),
            kind: Some(kind),
            is_required: true,
            default: None,
        })
    }

    /// Adds an attribute that has this value where a node does not give it.
    pub fn attribute_with_default(self, name: &str, default: DeclaredDefault) -> Self {
        self.attribute_as(DeclaredAttribute {
            name: name.to_owned(),
            kind: Some(default.kind()),
            is_required: false,
            default: Some(default),
        })
    }

    /// Marks the operator as one that may still change.
    pub const fn experimental(mut self) -> Self {
        self.schema.support = SupportLevel::Experimental;
        self
    }

    /// Marks the operator as one that must not be used from this version on.
    pub const fn deprecated(mut self) -> Self {
        self.schema.is_deprecated = true;
        self
    }

    /// Sets whether equal inputs give equal outputs.
    pub const fn determinism(mut self, determinism: Determinism) -> Self {
        self.schema.determinism = determinism;
        self
    }

    /// Adds a function body for an operator set version: a serialized `FunctionProto`.
    pub fn body(mut self, version: i64, function: &[u8]) -> Self {
        self.schema.bodies.push((version, function.into()));
        self
    }

    fn input_as(mut self, name: &str, ty: &str, option: FormalOption) -> Self {
        self.inputs.push((formal(name, option), ty.to_owned()));
        self
    }

    fn output_as(mut self, name: &str, ty: &str, option: FormalOption) -> Self {
        self.outputs.push((formal(name, option), ty.to_owned()));
        self
    }

    fn attribute_as(mut self, attribute: DeclaredAttribute) -> Self {
        self.schema.attributes.push(attribute);
        self
    }

    /// The schema, with its types resolved.
    pub(super) fn finish(self, domain: &str) -> Result<DeclaredSchema, DeclareError> {
        let Self { schema, inputs, outputs, types } = self;
        let mut schema = DeclaredSchema { domain: super::normal_domain(domain).to_owned(), ..schema };
        for (variable, texts) in types {
            let mut set = TypeSet::EMPTY;
            for text in texts {
                set = set.with(type_of(&text)?);
            }
            schema.constraints.push(DeclaredConstraint { variable, types: set });
        }
        schema.inputs = resolved(&schema, inputs)?;
        schema.outputs = resolved(&schema, outputs)?;
        schema.attributes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(schema)
    }
}

fn formal(name: &str, option: FormalOption) -> DeclaredFormal {
    DeclaredFormal {
        name: name.to_owned(),
        ty: DeclaredType::Any,
        option,
        min_arity: 1,
        is_homogeneous: true,
        differentiation: Differentiation::Unknown,
    }
}

fn type_of(text: &str) -> Result<TypeId, DeclareError> {
    TypeId::from_text(text).ok_or_else(|| DeclareError::UnknownType(text.to_owned()))
}

fn resolved(
    schema: &DeclaredSchema,
    formals: Vec<(DeclaredFormal, String)>,
) -> Result<Vec<DeclaredFormal>, DeclareError> {
    let one = |(formal, text): (DeclaredFormal, String)| {
        let ty = if text.is_empty() {
            DeclaredType::Any
        } else if schema.constraints.iter().any(|constraint| constraint.variable == text) {
            DeclaredType::Variable(text)
        } else {
            DeclaredType::Concrete(type_of(&text)?)
        };
        Ok(DeclaredFormal { ty, ..formal })
    };
    formals.into_iter().map(one).collect()
}
