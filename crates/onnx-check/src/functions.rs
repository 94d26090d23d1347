//! What the functions of a model declare.

use std::collections::{BTreeMap, BTreeSet};

use onnx_ir::{Attribute, FunctionId, Model};
use onnx_types::Symbol;
use slotmap::SecondaryMap;

/// The attributes of all functions. Indexed by name, because both attributes and calls can be numerous.
#[derive(Default)]
pub(crate) struct Functions<'a> {
    /// The first declaration of each attribute; with the default, where it has one.
    attributes: BTreeMap<(FunctionId, Symbol), Option<&'a Attribute>>,
    /// The attributes without defaults, each once, in order.
    required: SecondaryMap<FunctionId, Vec<Symbol>>,
    domains: BTreeSet<Symbol>,
}

impl<'a> Functions<'a> {
    pub(crate) fn of(model: &'a Model) -> Self {
        let mut functions = Self::default();
        for &id in model.functions() {
            let function = model.function(id);
            functions.domains.insert(function.domain());
            let mut required = Vec::new();
            for &name in &function.attributes {
                if functions.attributes.insert((id, name), None).is_none() {
                    required.push(name);
                }
            }
            functions.required.insert(id, required);
            for default in &function.defaults {
                functions.attributes.entry((id, default.name())).or_insert(Some(default));
            }
        }
        functions
    }

    /// Whether a function has an attribute.
    pub(crate) fn declares(&self, function: FunctionId, name: Symbol) -> bool {
        self.attributes.contains_key(&(function, name))
    }

    /// The default of an attribute of a function.
    pub(crate) fn default_of(&self, function: FunctionId, name: Symbol) -> Option<&'a Attribute> {
        self.attributes.get(&(function, name)).copied().flatten()
    }

    /// The attributes that every call of a function has to give.
    pub(crate) fn required(&self, function: FunctionId) -> &[Symbol] {
        self.required.get(function).map_or(&[], Vec::as_slice)
    }

    /// Whether the model has functions of a domain.
    pub(crate) fn have_domain(&self, domain: Symbol) -> bool {
        self.domains.contains(&domain)
    }
}
