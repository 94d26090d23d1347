//! Sizes that models declare by name: dimension variables, and expressions of these.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_types::expr::{Dialect, ExprTable};
use onnx_types::{Dim, Interner, Symbol};

use super::dims::{Target, Var, variables, variables_of};
use super::{MergeError, MergeOptions, Part};
use crate::sizes::{is_name, with_names};

/// The named sizes of all models.
pub(super) struct Declared {
    models: Vec<Names>,
    /// The expressions of all models, and the names in them.
    exprs: ExprTable,
    names: Interner,
}

/// The named sizes of a model.
#[derive(Default)]
struct Names {
    /// The dimension variables, in order.
    variables: Vec<Symbol>,
    /// The same as a set.
    are_variables: HashSet<Symbol, RandomState>,
    /// Those of inputs.
    of_inputs: HashSet<Symbol, RandomState>,
    /// The names that are expressions, in order.
    expressions: Vec<(Symbol, Expression)>,
    /// Their positions by name.
    are_expressions: HashMap<Symbol, usize, RandomState>,
}

/// A name that is an expression.
struct Expression {
    /// The expression, in the table of all models.
    dim: Dim,
    /// The names in it, and the variables that they are.
    variables: Vec<(Symbol, Var)>,
}

impl Declared {
    /// Reads the names of the sizes of all models.
    ///
    /// As in inference, a name is an expression if its variables are sizes of inputs of the model. A variable of
    /// [`same_dimensions`](MergeOptions::same_dimensions) can also be that of another model. Every other name is a variable.
    pub(super) fn new(parts: &[Part<'_>], options: &MergeOptions<'_>) -> Result<Self, MergeError> {
        let mut all = Self { models: Vec::new(), exprs: ExprTable::new(), names: Interner::new() };
        for part in parts {
            let model = &*part.model;
            let inputs = model.graph(model.main_graph()).inputs();
            let of_inputs = inputs.iter().flat_map(|&input| variables_of(model, model.ty(input))).collect();
            let variables = variables(model);
            let are_variables = variables.iter().copied().collect();
            all.models.push(Names { variables, are_variables, of_inputs, ..Names::default() });
        }
        let mut shared: HashMap<&str, Var, RandomState> = HashMap::default();
        for name in &options.same_dimensions {
            if let Some(var) = all.with_name(parts, name).next() {
                shared.insert(name, var);
            }
        }
        for index in 0..parts.len() {
            all.read_expressions(parts, index, &shared);
        }
        for name in &options.same_dimensions {
            if all.with_name(parts, name).next().is_none() {
                return Err(all.unknown(parts, name));
            }
        }
        Ok(all)
    }

    /// The dimension variables of a model, in order.
    pub(super) fn variables(&self, model: usize) -> &[Symbol] {
        self.models.get(model).map_or(&[], |names| &names.variables)
    }

    /// Whether a name of a model is an expression.
    pub(super) fn is_expression(&self, model: usize, name: Symbol) -> bool {
        self.models.get(model).is_some_and(|names| names.are_expressions.contains_key(&name))
    }

    /// The variables of a size of a model, also if its name is an expression.
    pub(super) fn symbols(&self, model: usize, dim: Dim) -> Vec<Symbol> {
        let Dim::Var(name) = dim else { return Vec::new() };
        let expression = self
            .models
            .get(model)
            .and_then(|names| names.expressions.get(*names.are_expressions.get(&name)?));
        match expression {
            Some((_, expression)) => expression.variables.iter().map(|&(_, (_, name))| name).collect(),
            None => vec![name],
        }
    }

    /// Whether a variable of a model is the size of an input.
    pub(super) fn is_of_input(&self, (model, name): Var) -> bool {
        self.models.get(model).is_some_and(|names| names.of_inputs.contains(&name))
    }

    /// The variables of the models that have a name, in order.
    pub(super) fn with_name<'a>(
        &'a self,
        parts: &'a [Part<'_>],
        name: &'a str,
    ) -> impl Iterator<Item = Var> + 'a {
        parts.iter().zip(&self.models).enumerate().filter_map(move |(index, (part, names))| {
            let symbol = part.model.names().get(name)?;
            names.are_variables.contains(&symbol).then_some((index, symbol))
        })
    }

    /// Moves the names that are expressions from the variables of a model to its expressions.
    fn read_expressions(
        &mut self,
        parts: &[Part<'_>],
        index: usize,
        shared: &HashMap<&str, Var, RandomState>,
    ) {
        let (Some(part), Some(of_model)) = (parts.get(index), self.models.get_mut(index)) else { return };
        let known = part.model.names();
        for &name in &of_model.variables {
            let text = part.model.str(name);
            let Some((dim, symbols)) = parse(&mut self.exprs, &mut self.names, text) else { continue };
            let variables = symbols.into_iter().map(|symbol| {
                let text = self.names.resolve(symbol);
                let own = known.get(text).filter(|own| *own != name && of_model.of_inputs.contains(own));
                let var = own.map(|own| (index, own)).or_else(|| shared.get(text).copied());
                Some((symbol, var.filter(|&var| var != (index, name))?))
            });
            if let Some(variables) = variables.collect::<Option<Vec<_>>>() {
                of_model.are_expressions.insert(name, of_model.expressions.len());
                of_model.expressions.push((name, Expression { dim, variables }));
            }
        }
        let Names { variables, are_variables, of_inputs, are_expressions, .. } = of_model;
        variables.retain(|name| !are_expressions.contains_key(name));
        are_variables.retain(|name| !are_expressions.contains_key(name));
        of_inputs.retain(|name| !are_expressions.contains_key(name));
    }

    /// Whether a name that is a variable in its model would be one in a model whose inputs have these variables.
    pub(super) fn would_be_expression(
        &mut self,
        text: &str,
        of_inputs: &HashSet<String, RandomState>,
    ) -> bool {
        let parsed = parse(&mut self.exprs, &mut self.names, text);
        let is_known = |symbol: &Symbol| of_inputs.contains(self.names.resolve(*symbol));
        parsed.is_some_and(|(_, symbols)| symbols.iter().all(is_known))
    }

    /// Whether a text has the form of an expression.
    pub(super) fn has_operators(&mut self, text: &str) -> bool {
        parse(&mut self.exprs, &mut self.names, text).is_some()
    }

    /// The expressions of a model that change if its variables become something else, and what they become.
    pub(super) fn changed(
        &mut self,
        parts: &[Part<'_>],
        model: usize,
        of: &dyn Fn(Var) -> Option<Target>,
    ) -> Vec<(Symbol, Target)> {
        let (Some(part), Some(of_model)) = (parts.get(model), self.models.get(model)) else {
            return Vec::new();
        };
        let (exprs, names) = (&mut self.exprs, &mut self.names);
        let mut changed = Vec::new();
        for (name, expression) in &of_model.expressions {
            let mut new: HashMap<Symbol, Dim, RandomState> = HashMap::default();
            for &(symbol, var) in &expression.variables {
                let dim = match of(var) {
                    Some(Target::Known(size)) => Dim::Known(size),
                    Some(Target::Name(name)) => Dim::Var(names.intern(&name)),
                    Some(Target::Unknown) => Dim::Unknown,
                    None => continue,
                };
                new.insert(symbol, dim);
            }
            let dim = exprs.substitute(expression.dim, &|symbol| new.get(&symbol).copied());
            if dim != expression.dim {
                changed.push((*name, target(exprs, names, (part.model.str(*name), dim), &new)));
            }
        }
        changed
    }

    fn unknown(&self, parts: &[Part<'_>], name: &str) -> MergeError {
        let mut known: Vec<String> = Vec::new();
        let mut seen: HashSet<&str, RandomState> = HashSet::default();
        for (part, names) in parts.iter().zip(&self.models) {
            for &variable in &names.variables {
                let text = part.model.str(variable);
                if seen.insert(text) {
                    known.push(text.to_owned());
                }
            }
        }
        MergeError::Dimension { name: name.to_owned(), known }
    }
}

/// An expression in which symbols are replaced, in the notation of its text if the result can be parsed.
fn target(
    exprs: &mut ExprTable,
    names: &Interner,
    (text, dim): (&str, Dim),
    new: &HashMap<Symbol, Dim, RandomState>,
) -> Target {
    match dim {
        Dim::Known(size) if size >= 0 => return Target::Known(size),
        Dim::Known(_) | Dim::Unknown => return Target::Unknown,
        Dim::Var(_) | Dim::Expr(_) => {}
    }
    let written = with_names(text, &|word| match new.get(&names.get(word)?)? {
        Dim::Var(name) => Some(names.resolve(*name)),
        _ => None,
    });
    if exprs.try_parse_known(names, &written).ok() == Some(dim) {
        return Target::Name(written);
    }
    exprs.text(dim, names, Dialect::Python).map_or(Target::Unknown, Target::Name)
}

/// The expression that a text is, and the names in it; `None` if it is a name or a number.
fn parse(exprs: &mut ExprTable, names: &mut Interner, text: &str) -> Option<(Dim, Vec<Symbol>)> {
    if is_name(text) {
        return None;
    }
    let dim = exprs.try_parse(names, text).ok()?;
    let is_itself = matches!(dim, Dim::Var(symbol) if names.resolve(symbol) == text);
    (matches!(dim, Dim::Var(_) | Dim::Expr(_)) && !is_itself).then(|| (dim, exprs.symbols(dim)))
}
