//! The argument `--set DIM[,DIM]=SIZE`: dimension variables or axes, and a size for them.

use std::collections::HashSet;
use std::fmt;

use onnx_ir::Model;

use crate::exit::Failure;
use crate::known_names;
use crate::output::shown;
use crate::run::name;

/// Reads a list of `DIM=SIZE`, in which several dimensions before a size have this size: `N=4,S=2`, `N,S=4`.
pub(crate) fn parse<T>(
    text: &str,
    size: impl Fn(&str) -> Option<T>,
    what: &str,
) -> Result<Vec<(String, T)>, Failure>
where
    T: Clone,
{
    let malformed = || {
        Failure::new(format_args!("`{}` is not DIM={what}", shown(text))).help(
            "write the name of a dimension variable, or an axis such as `x[0]`, and its size: `batch=2`",
        )
    };
    let (mut sets, mut dims): (Vec<(String, T)>, Vec<&str>) = (Vec::new(), Vec::new());
    for part in text.split(',') {
        let (dim, number) = part.rsplit_once('=').map_or((part, None), |(dim, size)| (dim, Some(size)));
        if dim.is_empty() {
            return Err(malformed());
        }
        dims.push(dim);
        if let Some(number) = number {
            let is_large = number.len() > 18 && number.bytes().all(|byte| byte.is_ascii_digit());
            let number = size(number).ok_or_else(|| match is_large {
                true => Failure::new(format_args!("`{}` is too large: a size has 63 bits", shown(number))),
                false => malformed(),
            })?;
            sets.extend(dims.drain(..).map(|dim| (dim.to_owned(), number.clone())));
        }
    }
    if dims.is_empty() { Ok(sets) } else { Err(malformed()) }
}

/// A size that is a number.
pub(crate) fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|&size: &i64| size >= 0)
}

/// The name and the axis in `x[0]`.
pub(crate) fn axis(text: &str) -> Option<(&str, usize)> {
    let (name, axis) = text.strip_suffix(']')?.rsplit_once('[')?;
    Some((name, axis.parse().ok()?))
}

/// The failure for a dimension that no input has, by the names of the dimension variables of the inputs.
pub(crate) fn unknown(model: &Model, dim: &str, variables: &[&str]) -> Failure {
    let graph = model.graph(model.main_graph());
    let inputs: Vec<&str> = graph.inputs().iter().map(|&input| name(model, input)).collect();
    if let Some((of, _)) = axis(dim) {
        if graph.outputs().iter().any(|output| name(model, output.value()) == of) {
            let first = inputs.first().copied().unwrap_or("x");
            return Failure::new(format_args!(
                "`{}` is an output, and its sizes follow from those of the inputs",
                shown(of)
            ))
            .help(format!("set a size of an input, such as `{}`", shown(&format!("{first}[0]"))));
        }
        let failure = Failure::new(format_args!("no input is called `{}`", shown(of)));
        return failure.help(known_names::of_ports(of, &inputs, "input"));
    }
    let mut seen = HashSet::new();
    let variables: Vec<&str> = variables.iter().copied().filter(|name| seen.insert(*name)).collect();
    let failure = Failure::new(format_args!("no input has the dimension variable `{}`", shown(dim)));
    let axis = shown(&format!("{}[0]", inputs.first().copied().unwrap_or("x")));
    let none = format!("the inputs have no dimension variables; an axis is written `{axis}`");
    failure.help(known_names::advice(dim, &variables, &none, |names| {
        format!("there are {names}; an axis is written `{axis}`")
    }))
}

/// The failure for two sizes of one dimension.
pub(crate) fn conflict(dim: &str, first: impl fmt::Display, second: impl fmt::Display) -> Failure {
    let [dim, first, second] = [dim, &first.to_string(), &second.to_string()].map(shown);
    Failure::new(format_args!("`{dim}` cannot be both {first} and {second}"))
        .help(format!("set it once: `--set {dim}={first}`"))
}
