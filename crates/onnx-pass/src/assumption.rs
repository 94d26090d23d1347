//! The premises of an equivalence: exactness classes, conditions that a caller grants, and recorded facts.

use std::fmt;

use onnx_ir::Model;
use onnx_shape_infer::{Content, Elem, Relation};
use onnx_types::Dim;
use onnx_types::expr::Dialect;

/// The exactness of the results of an edit, compared with those of the code that it replaces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Exactness {
    /// Equal bit for bit under every admissible implementation; NaNs are equal to each other. Operators whose order of
    /// accumulation or approximation the standard leaves open count as unknown functions of their operands.
    Exact,
    /// Equal in real arithmetic: results differ only by rounding. What is not equal to a computer is equal here if it is in real
    /// arithmetic: a `Cast` to `float16` and back is the identity.
    Rounding,
    /// Not equal: numbers have another format. Such edits are measured, not proved, and there are none by a patch:
    /// [`PassCx::approximate`](crate::PassCx::approximate) makes them.
    Approximate,
}

impl Exactness {
    /// The name: `exact`, `rounding` or `approximate`. A claim is of one of the first two.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Rounding => "rounding",
            Self::Approximate => "approximate",
        }
    }

    /// The class of a claim by its name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Exact, Self::Rounding].into_iter().find(|class| class.name() == name)
    }
}

/// A condition on the numbers at run time that no analysis proves and a caller must grant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Condition {
    /// No operand is a NaN.
    NoNan,
    /// No operand is an infinity or a NaN.
    Finite,
    /// No operand is −0.0.
    NoNegativeZero,
}

impl Condition {
    const ALL: [Self; 3] = [Self::NoNan, Self::Finite, Self::NoNegativeZero];

    /// The name in the text form: `no-nan`, `finite` or `no-negative-zero`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoNan => "no-nan",
            Self::Finite => "finite",
            Self::NoNegativeZero => "no-negative-zero",
        }
    }

    /// The condition of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|condition| condition.name() == name)
    }

    /// Returns `true` if a number satisfies the condition.
    #[must_use]
    pub fn allows(self, number: f64) -> bool {
        match self {
            Self::NoNan => !number.is_nan(),
            Self::Finite => number.is_finite(),
            Self::NoNegativeZero => number != 0.0 || number.is_sign_positive(),
        }
    }
}

/// A premise of an equivalence: the two sides are equal for the inputs that satisfy all of them. Indices are those of
/// [`Equivalence::inputs`](crate::Equivalence::inputs).
#[derive(Clone, PartialEq, Debug)]
pub enum Assumption {
    /// A relation between dimensions of the equivalence.
    Relation(Relation),
    /// The edit read the sizes of the input, so runs do not replace its known sizes by smaller ones.
    Shape {
        /// The input.
        input: usize,
    },
    /// The elements of the input, row-major, as far as they are known.
    Content {
        /// The input.
        input: usize,
        /// The elements.
        elements: Content,
    },
    /// The edit read the elements of a constant, so the input has these elements in all runs.
    Constant {
        /// The input.
        input: usize,
    },
    /// A guard that inferred results depend on, as text.
    Guard(String),
    /// A condition that the caller granted.
    Granted(Condition),
}

impl Assumption {
    /// Returns `true` if the assumption is not proved, so that the edit is correct only for callers that accept it.
    #[must_use]
    pub const fn is_unproved(&self) -> bool {
        matches!(self, Self::Guard(_) | Self::Granted(_))
    }

    /// The text form, one line without a line break.
    pub(crate) fn write(&self, model: &Model) -> String {
        match self {
            Self::Relation(relation) => relation_text(model, *relation),
            Self::Shape { input } => format!("shape: {input}"),
            Self::Constant { input } => format!("constant: {input}"),
            Self::Content { input, elements } => {
                let elements: Vec<String> = elements.iter().map(|&elem| elem_text(model, elem)).collect();
                format!("content: {input} = {}", elements.join(" ; "))
            }
            Self::Guard(text) => format!("guard: {}", text.replace(['\n', '\r'], " ")),
            Self::Granted(condition) => format!("granted: {}", condition.name()),
        }
    }

    /// Parses the text form; `None` if it is not one.
    pub(crate) fn parse(model: &mut Model, text: &str) -> Option<Self> {
        let (key, rest) = text.split_once(": ")?;
        let pair = |model: &mut Model| {
            let (a, b) = rest.split_once(" ; ")?;
            Some((parse_dim(model, a), parse_dim(model, b)))
        };
        Some(match key {
            "equal" => pair(model).map(|(a, b)| Self::Relation(Relation::Equal(a, b)))?,
            "at-most" => pair(model).map(|(a, b)| Self::Relation(Relation::AtMost(a, b)))?,
            "divides" => pair(model).map(|(a, b)| Self::Relation(Relation::Divides(a, b)))?,
            "broadcasts" => pair(model).map(|(a, b)| Self::Relation(Relation::Broadcasts(a, b)))?,
            "shape" => Self::Shape { input: rest.parse().ok()? },
            "constant" => Self::Constant { input: rest.parse().ok()? },
            "guard" => Self::Guard(rest.to_owned()),
            "granted" => Self::Granted(Condition::from_name(rest)?),
            "content" => {
                let (input, elements) = rest.split_once(" =")?;
                let elements = elements.trim_start();
                let elements: Content = match elements {
                    "" => [].into(),
                    _ => elements.split(" ; ").map(|elem| parse_elem(model, elem)).collect(),
                };
                Self::Content { input: input.parse().ok()?, elements }
            }
            _ => return None,
        })
    }
}

fn dim_text(model: &Model, dim: Dim) -> String {
    match dim {
        Dim::Unknown => "?".to_owned(),
        _ => model.exprs().text(dim, model.names(), Dialect::Python).unwrap_or_else(|| "?".to_owned()),
    }
}

pub(crate) fn parse_dim(model: &mut Model, text: &str) -> Dim {
    if text == "?" {
        return Dim::Unknown;
    }
    let (exprs, names) = model.exprs_mut();
    exprs.parse(names, text)
}

fn relation_text(model: &Model, relation: Relation) -> String {
    let (name, a, b) = match relation {
        Relation::Equal(a, b) => ("equal", a, b),
        Relation::AtMost(a, b) => ("at-most", a, b),
        Relation::Divides(a, b) => ("divides", a, b),
        Relation::Broadcasts(a, b) => ("broadcasts", a, b),
        // They name values of another model, and are recorded as guards.
        Relation::Declared(_) => return "guard: a declared type".to_owned(),
        Relation::Default(_) => return "guard: a default that is not overridden".to_owned(),
    };
    format!("{name}: {} ; {}", dim_text(model, a), dim_text(model, b))
}

fn elem_text(model: &Model, elem: Elem) -> String {
    match elem {
        Elem::Int(dim) => dim_text(model, dim),
        Elem::Dyadic(dim, by) => format!("dyadic {by} {}", dim_text(model, dim)),
        Elem::Float(number) => format!("float {:016x}", number.to_bits()),
        Elem::Unknown | Elem::Quotient(..) => "?".to_owned(),
    }
}

fn parse_elem(model: &mut Model, text: &str) -> Elem {
    if let Some(bits) = text.strip_prefix("float ") {
        return u64::from_str_radix(bits, 16).map_or(Elem::Unknown, |bits| Elem::Float(f64::from_bits(bits)));
    }
    if let Some((by, dim)) = text.strip_prefix("dyadic ").and_then(|rest| rest.split_once(' ')) {
        return by.parse().map_or(Elem::Unknown, |by| Elem::Dyadic(parse_dim(model, dim), by));
    }
    match text.parse() {
        Ok(number) => Elem::Int(Dim::Known(number)),
        Err(_) => Elem::int(parse_dim(model, text)),
    }
}

impl fmt::Display for Exactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The dimensions that an assumption names, other than those of the shape of an input.
pub(crate) fn named_by(assumption: &Assumption) -> Vec<Dim> {
    match assumption {
        Assumption::Relation(relation) => sides(*relation).map_or_else(Vec::new, |(a, b)| vec![a, b]),
        Assumption::Content { elements, .. } => {
            let dims = elements.iter().filter_map(|elem| match elem {
                Elem::Int(dim) | Elem::Dyadic(dim, _) => Some(*dim),
                _ => None,
            });
            dims.collect()
        }
        _ => Vec::new(),
    }
}

/// The two sides of a relation between dimensions.
pub(crate) const fn sides(relation: Relation) -> Option<(Dim, Dim)> {
    match relation {
        Relation::Equal(a, b)
        | Relation::AtMost(a, b)
        | Relation::Divides(a, b)
        | Relation::Broadcasts(a, b) => Some((a, b)),
        Relation::Declared(_) | Relation::Default(_) => None,
    }
}
