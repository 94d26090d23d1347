//! Names of dimension variables, also in the texts of expressions.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Model, ValueId};
use onnx_types::expr::ExprTable;
use onnx_types::{Dim, Interner, Symbol};

use super::types::change_dims;
use super::{NewSize, Resized, bind};
use crate::error::ComposeError;
use crate::interface::name;

/// Whether a text is a name, and nothing that a reader could take for a number or an expression.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.chars().all(is_part) && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The dimension variables of the inputs, in order.
pub(super) fn of_inputs(model: &Model) -> Vec<Symbol> {
    let mut seen = HashSet::<Symbol, RandomState>::default();
    let mut found = Vec::new();
    for &input in model.graph(model.main_graph()).inputs() {
        for &dim in model.ty(input).and_then(|ty| ty.shape()).map(|shape| shape.dims()).unwrap_or_default() {
            match dim {
                Dim::Var(symbol) if seen.insert(symbol) => found.push(symbol),
                _ => {}
            }
        }
    }
    found
}

/// Variables of inputs.
pub(crate) type Variables = HashSet<Symbol, RandomState>;

/// The expression that the name of a declared size is, as for inference: a name that is more than letters, digits and
/// underscores is an expression if all names in it are sizes of inputs.
pub(crate) fn expression(
    (exprs, names): (&mut ExprTable, &Interner),
    variables: &Variables,
    symbol: Symbol,
) -> Option<Dim> {
    let text = names.resolve(symbol);
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let dim = exprs.try_parse_known(names, text).ok()?;
    let is_other = matches!(dim, Dim::Var(_) | Dim::Expr(_)) && dim != Dim::Var(symbol);
    (is_other && exprs.symbols(dim).iter().all(|symbol| variables.contains(symbol))).then_some(dim)
}

/// The expression that the name of a declared size of a model is.
pub(super) fn read(model: &mut Model, variables: &Variables, symbol: Symbol) -> Option<Dim> {
    let (exprs, names) = model.exprs_mut();
    expression((exprs, names), variables, symbol)
}

/// A declared size, as an expression if its name is one.
pub(super) fn meaning(model: &mut Model, variables: &Variables, dim: Dim) -> Dim {
    match dim {
        Dim::Var(symbol) => read(model, variables, symbol).unwrap_or(dim),
        dim => dim,
    }
}

/// Refuses a new variable of the inputs if the size of another value has its name, or would become an expression with it.
pub(super) fn refuse_taken(model: &mut Model, variable: Symbol) -> Result<(), ComposeError> {
    let before: Variables = of_inputs(model).into_iter().collect();
    if before.contains(&variable) {
        return Ok(());
    }
    let after: Variables = before.iter().copied().chain([variable]).collect();
    let mut taken = None;
    change_dims(model, &mut |model, value, _, dim| {
        if let Dim::Var(symbol) = dim
            && (symbol == variable || read(model, &before, symbol) != read(model, &after, symbol))
        {
            taken.get_or_insert((value, symbol));
        }
        dim
    });
    let Some((value, symbol)) = taken else { return Ok(()) };
    let [size, value_name] = [model.str(symbol).to_owned(), name(model, value)];
    let message =
        format!("`{size}` is the size of `{value_name}`, which may be another one; use another name");
    Err(ComposeError::Refused(message, Some(value)))
}

/// Sets the size of an axis of an input that declares none.
pub(super) fn set(model: &mut Model, value: ValueId, axis: usize, size: &NewSize) {
    let dim = match size {
        NewSize::Number(number) => Dim::Known(*number),
        NewSize::Name(name) => Dim::Var(model.intern(name)),
    };
    if let Some(ty) = model.ty(value).cloned() {
        bind::set_dim(model, value, ty, axis, dim);
    }
}

/// Renames dimension variables, all at once.
pub(super) fn rename(
    model: &mut Model,
    names: &BTreeMap<String, String>,
    done: &mut Resized,
) -> Result<(), ComposeError> {
    if names.is_empty() {
        return Ok(());
    }
    let variables: Variables = of_inputs(model).into_iter().collect();
    let mut others: BTreeSet<Symbol> = BTreeSet::new();
    let new: BTreeMap<Symbol, Symbol> =
        names.iter().map(|(old, new)| (model.intern(old), model.intern(new))).collect();
    let mut taken = None;
    done.types += change_dims(model, &mut |model, _, _, dim| {
        let of = |symbol: Symbol| new.get(&symbol).copied().map(Dim::Var);
        match dim {
            Dim::Var(symbol) => {
                if let Some(dim) = of(symbol) {
                    return dim;
                }
                // A name that no input has would become the size of an input.
                if new.values().any(|&name| name == symbol) && !variables.contains(&symbol) {
                    taken.get_or_insert(symbol);
                }
                let Some(expression) = read(model, &variables, symbol) else {
                    others.insert(symbol);
                    return dim;
                };
                rename_text(model, symbol, expression, &new)
            }
            Dim::Expr(_) => model.exprs_mut().0.substitute(dim, &of),
            dim => dim,
        }
    });
    // A name that was not an expression must not become one.
    let variables: Variables = of_inputs(model).into_iter().collect();
    let taken = taken.or_else(|| others.into_iter().find(|&other| read(model, &variables, other).is_some()));
    if let Some(symbol) = taken {
        let name = model.str(symbol).escape_debug();
        let message = format!("`{name}` is the size of a value that may be another one; use another name");
        return Err(ComposeError::refused(message));
    }
    done.renamed.extend(names.iter().map(|(old, new)| (old.clone(), new.clone())));
    Ok(())
}

/// The text of an expression with other names. The notation is kept.
fn rename_text(model: &mut Model, symbol: Symbol, expression: Dim, new: &BTreeMap<Symbol, Symbol>) -> Dim {
    let of = |symbol: Symbol| new.get(&symbol).copied().map(Dim::Var);
    let renamed = model.exprs_mut().0.substitute(expression, &of);
    if renamed == expression {
        return Dim::Var(symbol);
    }
    let text = model.str(symbol).to_owned();
    let written = with_names(&text, &|word| {
        let name = model.names().get(word).and_then(|symbol| new.get(&symbol))?;
        Some(model.str(*name))
    });
    let (exprs, names) = model.exprs_mut();
    // An uncommon notation is written again.
    if exprs.try_parse_known(names, &written).ok() == Some(renamed) {
        return Dim::Var(model.intern(&written));
    }
    renamed
}

/// The text of an expression with other names.
pub(crate) fn with_names<'a>(text: &str, new: &dyn Fn(&str) -> Option<&'a str>) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let length = if is_part(c) { rest.find(|c| !is_part(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
        let (word, after) = rest.split_at(length);
        written.push_str(new(word).unwrap_or(word));
        rest = after;
    }
    written
}
