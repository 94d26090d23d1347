//! What the functions of a model declare.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use onnx_ir::{AttrKind, AttrValue, Attribute, FunctionId, Model, NodeId};
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
    /// Where the bodies refer to attributes: for each kind the first place.
    uses: OnceCell<BTreeMap<(FunctionId, Symbol), Vec<Use>>>,
}

/// A node in the body of a function that refers to an attribute of the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// The kind of the value that the node needs.
    pub(crate) kind: AttrKind,
    pub(crate) node: NodeId,
    /// The attribute of the node.
    pub(crate) name: Symbol,
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

    /// Where the body of a function refers to an attribute: for each kind the first place.
    pub(crate) fn uses(&self, model: &Model, function: FunctionId, name: Symbol) -> &[Use] {
        let uses = self.uses.get_or_init(|| uses(model));
        uses.get(&(function, name)).map_or(&[], Vec::as_slice)
    }

    /// Whether the model has functions of a domain.
    pub(crate) fn have_domain(&self, domain: Symbol) -> bool {
        self.domains.contains(&domain)
    }
}

fn uses(model: &Model) -> BTreeMap<(FunctionId, Symbol), Vec<Use>> {
    let mut uses: BTreeMap<_, Vec<Use>> = BTreeMap::new();
    for &id in model.functions() {
        let function = model.function(id);
        if function.attributes.is_empty() && function.defaults.is_empty() {
            continue;
        }
        for graph in model.graphs_in(function.body()) {
            for node in model.nodes(graph) {
                for attribute in model.node(node).attributes() {
                    let (AttrValue::Ref(target), kind) = (attribute.value(), attribute.kind()) else {
                        continue;
                    };
                    let places = uses.entry((id, *target)).or_default();
                    if kind != AttrKind::Undefined && places.iter().all(|place| place.kind != kind) {
                        places.push(Use { kind, node, name: attribute.name() });
                    }
                }
            }
        }
    }
    uses
}
