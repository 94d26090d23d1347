//! Dimension variables of several models: classes of equal sizes, and the name of each class in the merged model.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, InfoEntry, Model};
use onnx_types::{Dim, Symbol, Type};

use super::declared::Declared;
use super::{Part, Renamed, RenamedKind};
use crate::sizes::is_name;

/// A dimension variable of a model.
pub(super) type Var = (usize, Symbol);

/// A size in a model: a number or a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Known(i64),
    Var(Var),
}

/// Classes of equal sizes.
#[derive(Default)]
pub(super) struct Classes {
    parents: HashMap<Var, Var, RandomState>,
    known: HashMap<Var, i64, RandomState>,
}

impl Classes {
    fn root(&self, mut var: Var) -> Var {
        while let Some(&parent) = self.parents.get(&var) {
            var = parent;
        }
        var
    }

    /// Makes two sizes one; returns `true` if they were two variables. An error has the numbers that differ.
    pub(super) fn unite(&mut self, a: Size, b: Size) -> Result<bool, (i64, i64)> {
        let [a, b] = [a, b].map(|size| match size {
            Size::Var(var) => Size::Var(self.root(var)),
            known @ Size::Known(_) => known,
        });
        match (a, b) {
            (Size::Known(a), Size::Known(b)) if a != b => Err((a, b)),
            (Size::Known(_), Size::Known(_)) => Ok(false),
            (Size::Known(size), Size::Var(root)) => match *self.known.entry(root).or_insert(size) {
                old if old == size => Ok(false),
                old => Err((size, old)),
            },
            (Size::Var(root), Size::Known(size)) => match *self.known.entry(root).or_insert(size) {
                old if old == size => Ok(false),
                old => Err((old, size)),
            },
            (Size::Var(a), Size::Var(b)) => {
                // The variable of the earlier model gives the name.
                let (root, child) = if a <= b { (a, b) } else { (b, a) };
                if root == child {
                    return Ok(false);
                }
                if let (Some(&a), Some(&b)) = (self.known.get(&a), self.known.get(&b))
                    && a != b
                {
                    return Err((a, b));
                }
                if let Some(size) = self.known.remove(&child) {
                    self.known.insert(root, size);
                }
                self.parents.insert(child, root);
                Ok(true)
            }
        }
    }

    fn size(&self, var: Var) -> Size {
        let root = self.root(var);
        self.known.get(&root).map_or(Size::Var(root), |&size| Size::Known(size))
    }
}

/// The counterpart of a named size of a model in the merged model.
#[derive(Clone)]
pub(super) enum Target {
    Known(i64),
    /// The name of a variable, or the text of an expression.
    Name(String),
    /// An expression that is not a size any more.
    Unknown,
}

/// The named sizes of each model that are replaced.
pub(super) type Targets = Vec<Vec<(Symbol, Target)>>;

/// Chooses the names of all variables: that of the first model that has it, unless another size has the name. Returns the
/// variables by their names, too. Expressions get the new names of their variables.
pub(super) fn targets(
    parts: &[Part<'_>],
    (declared, classes): (&mut Declared, &Classes),
    renamed: &mut Vec<Renamed>,
    bound: &mut Vec<(usize, String, i64)>,
) -> (Targets, HashMap<String, Var, RandomState>) {
    let all = |model: usize, declared: &Declared| {
        declared.variables(model).iter().map(move |&name| (model, name)).collect::<Vec<Var>>()
    };
    let all: Vec<Var> = (0..parts.len()).flat_map(|model| all(model, declared)).collect();
    let names = names(parts, declared, classes, &all);
    let text = |(model, name): Var| parts.get(model).map_or("", |part| part.model.str(name));
    let target = |var: Var| match classes.size(var) {
        Size::Known(size) => Some(Target::Known(size)),
        Size::Var(root) => names.get(&root).filter(|name| *name != text(var)).cloned().map(Target::Name),
    };
    let mut targets: Targets = parts.iter().map(|_| Vec::new()).collect();
    for var in all {
        let Some(target) = target(var) else { continue };
        match &target {
            Target::Known(size) => bound.push((var.0, text(var).to_owned(), *size)),
            Target::Name(to) => {
                let (from, to) = (text(var).to_owned(), to.clone());
                renamed.push(Renamed { model: var.0, kind: RenamedKind::Dimension, from, to });
            }
            Target::Unknown => {}
        }
        if let Some(of_model) = targets.get_mut(var.0) {
            of_model.push((var.1, target));
        }
    }
    // Expressions contain the names of the merged model, also where the variable is that of another model.
    for (model, of_model) in targets.iter_mut().enumerate() {
        of_model.extend(declared.changed(parts, model, &|var| {
            let name = |name: &String| Target::Name(name.clone());
            match classes.size(var) {
                Size::Known(size) => Some(Target::Known(size)),
                Size::Var(root) => names.get(&root).map(name),
            }
        }));
    }
    (targets, names.into_iter().map(|(var, name)| (name, var)).collect())
}

/// The names of the variables in the merged model.
fn names(
    parts: &[Part<'_>],
    declared: &mut Declared,
    classes: &Classes,
    all: &[Var],
) -> HashMap<Var, String, RandomState> {
    let text = |(model, name): Var| parts.get(model).map_or("", |part| part.model.str(name));
    let written: HashSet<&str, RandomState> = all.iter().map(|&var| text(var)).collect();
    let mut taken: HashSet<String, RandomState> = HashSet::default();
    let mut names: HashMap<Var, String, RandomState> = HashMap::default();
    let mut of_inputs: HashSet<String, RandomState> = HashSet::default();
    // Other texts come last: they must not become expressions of the names before.
    for is_last in [false, true] {
        for &var in all {
            let Size::Var(root) = classes.size(var) else { continue };
            let like = text(root);
            if is_name(like) == is_last {
                continue;
            }
            let name = names.entry(root).or_insert_with(|| {
                let is_free = !declared.would_be_expression(like, &of_inputs);
                if is_free && taken.insert(like.to_owned()) {
                    return like.to_owned();
                }
                let like = if declared.has_operators(like) { plain(like) } else { like.to_owned() };
                let numbered = (2_u64..).map(|number| format!("{like}_{number}"));
                let mut others = std::iter::once(like.clone()).chain(numbered);
                let free = |name: &String| !written.contains(name.as_str()) && taken.insert(name.clone());
                others.find(free).unwrap_or_default()
            });
            if declared.is_of_input(var) {
                of_inputs.insert(name.clone());
            }
        }
    }
    names
}

/// A name that is never read as an expression: `past + seq` becomes `past_seq`.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// The dimension variables that the graphs of a model declare, in order. Those of functions are their own.
pub(super) fn variables(model: &Model) -> Vec<Symbol> {
    let mut found = Found { model, seen: HashSet::default(), names: Vec::new() };
    for graph in model.graphs_in(model.main_graph()) {
        let record = model.graph(graph);
        for output in record.outputs() {
            found.ty(output.own().and_then(|own| own.ty.as_deref()));
        }
        for value in model.definitions(graph) {
            found.ty(model.ty(value));
        }
        for own in model.value_info(graph).filter_map(InfoEntry::own) {
            found.ty(own.ty.as_deref());
        }
        for attribute in model.nodes(graph).flat_map(|node| model.node(node).attributes()) {
            match attribute.value() {
                AttrValue::Type(ty) => found.ty(Some(ty)),
                AttrValue::Types(types) => types.iter().for_each(|ty| found.ty(Some(ty))),
                _ => {}
            }
        }
    }
    found.names
}

/// The variables of a type, in order.
pub(super) fn variables_of(model: &Model, ty: Option<&Type>) -> Vec<Symbol> {
    let mut found = Found { model, seen: HashSet::default(), names: Vec::new() };
    found.ty(ty);
    found.names
}

struct Found<'a> {
    model: &'a Model,
    seen: HashSet<Symbol, RandomState>,
    names: Vec<Symbol>,
}

impl Found<'_> {
    fn ty(&mut self, ty: Option<&Type>) {
        let mut next = ty;
        while let Some(ty) = next {
            for &dim in ty.shape().into_iter().flat_map(onnx_types::Shape::dims) {
                let symbols = match dim {
                    Dim::Var(symbol) => vec![symbol],
                    Dim::Expr(_) => self.model.exprs().symbols(dim),
                    Dim::Known(_) | Dim::Unknown => Vec::new(),
                };
                let symbols = symbols.into_iter().filter(|symbol| symbol.number().is_none());
                self.names.extend(symbols.filter(|&symbol| self.seen.insert(symbol)));
            }
            next = ty.inner();
        }
    }
}
