//! The companion of an operator set document: the signatures of its operators, as JSON.

use onnx_schema::{
    AttrKind, DeclareError, DeclaredAttribute, DeclaredConstraint, DeclaredDefault, DeclaredFormal,
    DeclaredSchema, DeclaredType, Determinism, Differentiation, FormalOption, OperatorSet, SupportLevel,
    TypeId, TypeSet,
};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// The format identifier in the files.
const FORMAT: &str = "onnx-signatures-1";

/// The maximum number of type variables that are read; operator sets accept no more.
const MOST: usize = 1024;

/// Why a companion cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The text is not JSON of the expected form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The file is of another format.
    #[error("the format is `{0}`, and only `{FORMAT}` can be read")]
    Format(String),
    /// A declaration contradicts itself or another one.
    #[error(transparent)]
    Declare(#[from] DeclareError),
    /// The default of an attribute does not fit its kind.
    #[error("`{op}`: the default of `{attribute}` is not a value of its kind")]
    Default {
        /// The operator.
        op: String,
        /// The attribute.
        attribute: String,
    },
    /// An attribute is of a kind that does not exist.
    #[error("`{0}` is not a kind of attribute: kinds are written as in `AttributeProto.AttributeType`")]
    Kind(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    domain: String,
    opset_version: i64,
    operators: Vec<Operator>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operator {
    name: String,
    since_version: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    deprecated: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    experimental: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    deterministic: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    inputs: Vec<Formal>,
    #[serde(default, skip_serializing_if = "is_default")]
    outputs: Vec<Formal>,
    #[serde(default, skip_serializing_if = "is_default")]
    types: Vec<Constraint>,
    #[serde(default, skip_serializing_if = "is_default")]
    attributes: Vec<Attribute>,
    #[serde(default, skip_serializing_if = "is_default")]
    input_counts: Vec<u16>,
    #[serde(default, skip_serializing_if = "is_default")]
    output_counts: Vec<u16>,
    #[serde(default, skip_serializing_if = "is_default")]
    unchecked_attributes: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    reference: Reference,
}

/// The support of the operator in the reference implementation.
#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    #[serde(default, skip_serializing_if = "is_default")]
    infers: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    propagates: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    makes_functions: Vec<i64>,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Formal {
    name: String,
    /// A type variable or a type; absent for any type.
    #[serde(default, rename = "type", skip_serializing_if = "is_default")]
    ty: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    option: Choice,
    #[serde(default, skip_serializing_if = "is_default")]
    min_arity: Option<u8>,
    #[serde(default, skip_serializing_if = "is_default")]
    heterogeneous: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    differentiable: Option<bool>,
}

#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Choice {
    #[default]
    Single,
    Optional,
    Variadic,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Constraint {
    variable: String,
    allowed: Vec<String>,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    name: String,
    #[serde(default, skip_serializing_if = "is_default")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    required: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    default: Option<Value>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The signatures of an operator set as JSON: everything but the function bodies, which the document holds.
///
/// # Errors
///
/// None that is known; the writer of JSON could have one.
#[expect(clippy::disallowed_methods, reason = "the result is escaped")]
pub fn signatures_to_json(set: &OperatorSet) -> Result<String, SignatureError> {
    let file = File {
        format: FORMAT.to_owned(),
        domain: set.domain().to_owned(),
        opset_version: set.version(),
        operators: set.operators().iter().map(operator).collect(),
    };
    Ok(onnx_diag::render::safe_json(&format!("{}\n", serde_json::to_string_pretty(&file)?)))
}

fn operator(schema: &DeclaredSchema) -> Operator {
    Operator {
        name: schema.name().to_owned(),
        since_version: schema.since_version(),
        deprecated: schema.is_deprecated,
        experimental: schema.support == SupportLevel::Experimental,
        deterministic: match schema.determinism {
            Determinism::Unknown => None,
            Determinism::Deterministic => Some(true),
            Determinism::NonDeterministic => Some(false),
        },
        inputs: schema.inputs.iter().map(formal).collect(),
        outputs: schema.outputs.iter().map(formal).collect(),
        types: schema
            .constraints
            .iter()
            .map(|constraint| Constraint {
                variable: constraint.variable.clone(),
                allowed: constraint.types.iter().map(|id| id.text().to_owned()).collect(),
            })
            .collect(),
        attributes: schema.attributes.iter().map(attribute).collect(),
        input_counts: schema.input_counts.clone(),
        output_counts: schema.output_counts.clone(),
        unchecked_attributes: schema.allows_unchecked_attributes,
        reference: Reference {
            infers: schema.has_inference,
            propagates: schema.has_data_propagation,
            makes_functions: schema.context_function_versions.clone(),
        },
    }
}

fn formal(formal: &DeclaredFormal) -> Formal {
    Formal {
        name: formal.name.clone(),
        ty: match &formal.ty {
            DeclaredType::Any => None,
            DeclaredType::Concrete(id) => Some(id.text().to_owned()),
            DeclaredType::Variable(name) => Some(name.clone()),
        },
        option: match formal.option {
            FormalOption::Single => Choice::Single,
            FormalOption::Optional => Choice::Optional,
            FormalOption::Variadic => Choice::Variadic,
        },
        min_arity: (formal.min_arity != 1).then_some(formal.min_arity),
        heterogeneous: !formal.is_homogeneous,
        differentiable: match formal.differentiation {
            Differentiation::Unknown => None,
            Differentiation::Differentiable => Some(true),
            Differentiation::NonDifferentiable => Some(false),
        },
    }
}

fn attribute(attribute: &DeclaredAttribute) -> Attribute {
    Attribute {
        name: attribute.name.clone(),
        kind: attribute.kind.map(|kind| kind.name().to_owned()),
        required: attribute.is_required,
        default: attribute.default.as_ref().map(|default| match default {
            DeclaredDefault::Float(value) => float(*value),
            DeclaredDefault::Int(value) => (*value).into(),
            DeclaredDefault::String(value) => value.as_str().into(),
            DeclaredDefault::Floats(values) => values.iter().map(|&value| float(value)).collect(),
            DeclaredDefault::Ints(values) => values.as_slice().into(),
            DeclaredDefault::Strings(values) => values.as_slice().into(),
        }),
    }
}

/// A float as the shortest number that parses to the same float; NaN and infinities as a string.
fn float(value: f32) -> Value {
    let shortest = value.to_string().parse().ok().and_then(Number::from_f64);
    shortest.map_or_else(|| value.to_string().into(), Value::Number)
}

/// Reads the signatures of an operator set from JSON.
///
/// # Errors
///
/// Returns an error if the text is not JSON of the right form, or declares operators that contradict themselves.
pub fn signatures_from_json(text: &str) -> Result<OperatorSet, SignatureError> {
    let file: File = serde_json::from_str(text)?;
    if file.format != FORMAT {
        return Err(SignatureError::Format(file.format));
    }
    let mut set = OperatorSet::new(&file.domain, file.opset_version);
    for operator in file.operators {
        let schema = schema(&file.domain, operator)?;
        set.add_schema(schema)?;
    }
    Ok(set)
}

fn schema(domain: &str, operator: Operator) -> Result<DeclaredSchema, SignatureError> {
    let mut schema = DeclaredSchema::empty(domain, &operator.name, operator.since_version);
    schema.is_deprecated = operator.deprecated;
    if operator.experimental {
        schema.support = SupportLevel::Experimental;
    }
    schema.determinism = match operator.deterministic {
        None => Determinism::Unknown,
        Some(true) => Determinism::Deterministic,
        Some(false) => Determinism::NonDeterministic,
    };
    if operator.types.len() > MOST {
        return Err(DeclareError::TooMany(schema.to_string()).into());
    }
    for constraint in operator.types {
        let types = constraint.allowed.iter().map(|text| type_of(text)).collect::<Result<TypeSet, _>>()?;
        schema.constraints.push(DeclaredConstraint { variable: constraint.variable, types });
    }
    for formal in operator.inputs {
        let formal = declared_formal(&schema, formal)?;
        schema.inputs.push(formal);
    }
    for formal in operator.outputs {
        let formal = declared_formal(&schema, formal)?;
        schema.outputs.push(formal);
    }
    for attribute in operator.attributes {
        schema.attributes.push(declared_attribute(&operator.name, attribute)?);
    }
    schema.input_counts = operator.input_counts;
    schema.output_counts = operator.output_counts;
    schema.allows_unchecked_attributes = operator.unchecked_attributes;
    schema.has_inference = operator.reference.infers;
    schema.has_data_propagation = operator.reference.propagates;
    schema.context_function_versions = operator.reference.makes_functions;
    Ok(schema)
}

fn type_of(text: &str) -> Result<TypeId, DeclareError> {
    TypeId::from_text(text).ok_or_else(|| DeclareError::UnknownType(text.to_owned()))
}

fn declared_formal(schema: &DeclaredSchema, formal: Formal) -> Result<DeclaredFormal, DeclareError> {
    let is_variable = |name: &String| schema.constraints.iter().any(|known| known.variable == *name);
    Ok(DeclaredFormal {
        name: formal.name,
        ty: match formal.ty {
            None => DeclaredType::Any,
            Some(name) if is_variable(&name) => DeclaredType::Variable(name),
            Some(text) => DeclaredType::Concrete(type_of(&text)?),
        },
        option: match formal.option {
            Choice::Single => FormalOption::Single,
            Choice::Optional => FormalOption::Optional,
            Choice::Variadic => FormalOption::Variadic,
        },
        min_arity: formal.min_arity.unwrap_or(1),
        is_homogeneous: !formal.heterogeneous,
        differentiation: match formal.differentiable {
            None => Differentiation::Unknown,
            Some(true) => Differentiation::Differentiable,
            Some(false) => Differentiation::NonDifferentiable,
        },
    })
}

fn declared_attribute(op: &str, attribute: Attribute) -> Result<DeclaredAttribute, SignatureError> {
    let kind = attribute.kind.map(|name| {
        let known = AttrKind::ALL.into_iter().find(|kind| kind.name() == name);
        known.filter(|&kind| kind != AttrKind::Undefined).ok_or(SignatureError::Kind(name))
    });
    let kind = kind.transpose()?;
    let default = attribute.default.map(|value| {
        let value = kind.and_then(|kind| default(kind, &value));
        value.ok_or_else(|| SignatureError::Default { op: op.to_owned(), attribute: attribute.name.clone() })
    });
    let default = default.transpose()?;
    Ok(DeclaredAttribute { name: attribute.name, kind, is_required: attribute.required, default })
}

/// The default of an attribute of this kind, if the value is one.
fn default(kind: AttrKind, value: &Value) -> Option<DeclaredDefault> {
    fn list<T>(value: &Value, one: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
        value.as_array()?.iter().map(one).collect()
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(match kind {
        AttrKind::Float => DeclaredDefault::Float(number(value)?),
        AttrKind::Int => DeclaredDefault::Int(value.as_i64()?),
        AttrKind::String => DeclaredDefault::String(text(value)?),
        AttrKind::Floats => DeclaredDefault::Floats(list(value, number)?),
        AttrKind::Ints => DeclaredDefault::Ints(list(value, Value::as_i64)?),
        AttrKind::Strings => DeclaredDefault::Strings(list(value, text)?),
        _ => return None,
    })
}

/// The float of a number, or of the string for NaN or an infinity; `None` if the number is too large.
fn number(value: &Value) -> Option<f32> {
    match value {
        Value::Number(number) => number.to_string().parse().ok().filter(|value: &f32| value.is_finite()),
        Value::String(text) if matches!(text.as_str(), "NaN" | "inf" | "-inf") => text.parse().ok(),
        _ => None,
    }
}
