//! A set of declared operators.

use std::collections::BTreeSet;
use std::fmt;

use super::{Declaration, DeclaredFormal, DeclaredSchema, DeclaredType, normal_domain};
use crate::signature::FormalOption;

/// The operators of one domain at one version: a custom operator set, declared in code or read from a document.
///
/// [`declare`](crate::declare) has an example.
#[derive(Clone, PartialEq, Debug)]
pub struct OperatorSet {
    domain: String,
    version: i64,
    operators: Vec<DeclaredSchema>,
    names: BTreeSet<String>,
}

/// Maximum number of attributes, and of type variables, that an operator can declare; bounds the work for any input.
const MOST: usize = 1024;

impl OperatorSet {
    /// An operator set without operators.
    #[must_use]
    pub fn new(domain: &str, version: i64) -> Self {
        Self {
            domain: normal_domain(domain).to_owned(),
            version,
            operators: Vec::new(),
            names: BTreeSet::new(),
        }
    }

    /// The standard operator set of a domain at a version, with the schemas that are in force there; `None` where ONNX
    /// defines no such set.
    #[must_use]
    pub fn standard(domain: &str, version: i64) -> Option<Self> {
        let symbol = crate::domain_symbol(domain)?;
        if !crate::opset_versions(symbol)?.contains(&version) {
            return None;
        }
        let mut set = Self::new(domain, version);
        for versions in crate::operators() {
            let in_force = versions.iter().rev().find(|schema| schema.since_version() <= version);
            if let Some(schema) = in_force.filter(|schema| schema.domain_name() == set.domain) {
                set.names.insert(schema.name().to_owned());
                set.operators.push(schema.into());
            }
        }
        Some(set)
    }

    /// The domain.
    #[must_use]
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The version.
    #[must_use]
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// The operators, in the order in which they were added.
    #[must_use]
    pub fn operators(&self) -> &[DeclaredSchema] {
        &self.operators
    }

    pub(crate) fn into_operators(self) -> Vec<DeclaredSchema> {
        self.operators
    }

    /// Adds an operator.
    ///
    /// # Errors
    ///
    /// Returns an error if the declaration contradicts itself or the set: see [`DeclareError`].
    pub fn add(&mut self, declaration: Declaration) -> Result<(), DeclareError> {
        let schema = declaration.finish(&self.domain)?;
        self.add_schema(schema)
    }

    /// Adds an operator as another set declares it, under the domain of this one.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema contradicts itself or the set: see [`DeclareError`].
    pub fn add_schema(&mut self, schema: DeclaredSchema) -> Result<(), DeclareError> {
        let schema = DeclaredSchema { domain: self.domain.clone(), ..schema };
        schema.verify()?;
        if schema.since_version() > self.version {
            return Err(DeclareError::NewerThanSet { op: schema.to_string(), version: self.version });
        }
        if !self.names.insert(schema.name().to_owned()) {
            return Err(DeclareError::Repeated(schema.to_string()));
        }
        self.operators.push(schema);
        Ok(())
    }
}

impl DeclaredSchema {
    /// An empty schema, to be filled in field by field; [`OperatorSet::add_schema`] proves that it makes sense.
    #[must_use]
    pub fn empty(domain: &str, name: &str, since_version: i64) -> Self {
        Self::new(domain, name, since_version)
    }

    /// Whether the schema makes sense by itself.
    fn verify(&self) -> Result<(), DeclareError> {
        let op = || self.to_string();
        if self.name().is_empty() {
            return Err(DeclareError::Unnamed);
        }
        if self.since_version() < 1 {
            return Err(DeclareError::VersionTooSmall(op()));
        }
        if self.attributes.len() > MOST || self.constraints.len() > MOST {
            return Err(DeclareError::TooMany(op()));
        }
        for formals in [&self.inputs, &self.outputs] {
            self.verify_formals(formals)?;
        }
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for attribute in &self.attributes {
            if !names.insert(&attribute.name) {
                return Err(DeclareError::NameTwice { op: op(), name: attribute.name.clone() });
            }
            let default = attribute.default.as_ref();
            let fits = default.is_none_or(|default| attribute.kind == Some(default.kind()));
            if !fits || (default.is_some() && attribute.is_required) {
                return Err(DeclareError::DefaultDoesNotFit { op: op(), name: attribute.name.clone() });
            }
        }
        names.clear();
        match self.constraints.iter().find(|constraint| !names.insert(&constraint.variable)) {
            Some(twice) => Err(DeclareError::NameTwice { op: op(), name: twice.variable.clone() }),
            None => Ok(()),
        }
    }

    fn verify_formals(&self, formals: &[DeclaredFormal]) -> Result<(), DeclareError> {
        let before_last = formals.split_last().map_or(&[][..], |(_, before)| before);
        if let Some(formal) = before_last.iter().find(|formal| formal.option == FormalOption::Variadic) {
            return Err(DeclareError::VariadicNotLast { op: self.to_string(), name: formal.name.clone() });
        }
        for formal in formals {
            if formal.min_arity > 1 {
                return Err(DeclareError::ArityTooLarge { op: self.to_string(), name: formal.name.clone() });
            }
            if let DeclaredType::Variable(variable) = &formal.ty
                && !self.constraints.iter().any(|constraint| constraint.variable == *variable)
            {
                return Err(DeclareError::UnknownType(variable.clone()));
            }
        }
        Ok(())
    }
}

/// Why an operator cannot be declared so.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DeclareError {
    /// An operator has no name.
    Unnamed,
    /// An operator exists since a version below 1.
    VersionTooSmall(String),
    /// An operator is newer than its operator set.
    NewerThanSet {
        /// The operator and its version.
        op: String,
        /// The version of the set.
        version: i64,
    },
    /// A set has an operator twice.
    Repeated(String),
    /// A text is neither a type that ONNX's constraints know nor a declared type variable.
    UnknownType(String),
    /// A variadic input or output is not the last one.
    VariadicNotLast {
        /// The operator and its version.
        op: String,
        /// The input or output.
        name: String,
    },
    /// A variadic input or output needs more than one value.
    ArityTooLarge {
        /// The operator and its version.
        op: String,
        /// The input or output.
        name: String,
    },
    /// Two attributes or two type variables have one name.
    NameTwice {
        /// The operator and its version.
        op: String,
        /// The name.
        name: String,
    },
    /// The default of an attribute is of another kind than the attribute, or the attribute is required.
    DefaultDoesNotFit {
        /// The operator and its version.
        op: String,
        /// The attribute.
        name: String,
    },
    /// An operator declares more attributes or type variables than are accepted, which is 1024 of each.
    TooMany(String),
    /// Two sets of a registry declare the same version of an operator in different ways.
    Conflict(String),
}

impl fmt::Display for DeclareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unnamed => f.write_str("an operator has no name"),
            Self::VersionTooSmall(op) => write!(f, "`{op}`: versions begin with 1"),
            Self::NewerThanSet { op, version } => {
                write!(f, "`{op}` is newer than its operator set, which is version {version}")
            }
            Self::Repeated(op) => write!(f, "the operator set has `{op}` already"),
            Self::UnknownType(text) => {
                write!(f, "`{text}` is neither a known type, such as `tensor(float)`, nor a type variable")
            }
            Self::VariadicNotLast { op, name } => {
                write!(f, "`{op}`: `{name}` is variadic, so it must be the last one")
            }
            Self::ArityTooLarge { op, name } => {
                write!(f, "`{op}`: `{name}` can need no more than one value at least")
            }
            Self::NameTwice { op, name } => write!(f, "`{op}` declares `{name}` twice"),
            Self::DefaultDoesNotFit { op, name } => {
                write!(f, "`{op}`: the default of `{name}` does not fit the attribute")
            }
            Self::TooMany(op) => write!(f, "`{op}` declares more than {MOST} attributes or type variables"),
            Self::Conflict(op) => write!(f, "two operator sets declare `{op}` in different ways"),
        }
    }
}

impl std::error::Error for DeclareError {}
