//! What `--why` and `--unknown` write: the parts of values that stay unknown.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use onnx_ir::{Def, Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{Explanation, Gap, Inference, InferenceReport, Missing, Unknown};

use super::guards;
use crate::args::{GuardFormat, InferArgs};
use crate::exit::Failure;
use crate::info::types;
use crate::input::Loaded;
use crate::output::{DIM, KEY, Out, paint, shown};
use crate::selection;
use crate::size::plural;

/// Text that is written to standard output, or to standard error if the model goes there, in pieces: a report can be longer
/// than the memory that it should take.
struct Stream<'a> {
    out: &'a mut Out,
    is_aside: bool,
    pending: String,
}

impl Stream<'_> {
    /// The length from which on a piece is written.
    const PIECE: usize = 1 << 16;

    fn line(&mut self, line: fmt::Arguments<'_>) -> Result<(), Failure> {
        // Writing to a string cannot fail.
        let _ = writeln!(self.pending, "{line}");
        if self.pending.len() < Self::PIECE { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let text = std::mem::take(&mut self.pending);
        if self.is_aside {
            self.out.aside(&text);
            return Ok(());
        }
        self.out.text(&text)
    }
}

/// Number of guards that a report lists.
const MAX_REPORTED: usize = 1000;

/// Number of values for which `--why` lists guards: they are those of all nodes that a value is computed by.
const MAX_WITH_GUARDS: usize = 64;

/// Writes the explanation and the report that the user asks for.
pub(super) fn write(
    args: &InferArgs,
    loaded: &Loaded,
    (inference, registry): (&Inference, &Registry),
    is_aside: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let model = &loaded.model;
    let mut stream = Stream { out, is_aside, pending: String::new() };
    if let Some(name) = &args.why {
        let values = named(loaded, name)?;
        let explanations = inference.explain(model, &values, &loaded.execution.limits);
        explain(&mut stream, model, (inference, registry), &values, &explanations)?;
        let (first, rest) = values.split_at(values.len().min(MAX_WITH_GUARDS));
        for &value in first {
            guards::of_value(model, inference, value, &mut |line| stream.line(line))?;
        }
        if !rest.is_empty() && inference.guards(model).next().is_some() {
            let more = plural(rest.len() as u64, "more value");
            stream.line(format_args!(
                "the conditions under which the results for {more} hold are not listed: `--guards` lists all"
            ))?;
        }
    }
    if args.unknown {
        report(&mut stream, model, &inference.report(model, &loaded.execution.limits))?;
    }
    // What a report lists as known holds only under the guards.
    if let Some(format) = args.guards.or(args.unknown.then_some(GuardFormat::Text)) {
        let limit = if args.guards.is_some() { usize::MAX } else { MAX_REPORTED };
        guards::list(model, inference, format, limit, &mut |line| stream.line(line))?;
    }
    stream.flush()
}

/// The values that `--why` denotes.
pub(super) fn named(loaded: &Loaded, selector: &str) -> Result<Vec<ValueId>, Failure> {
    selection::values(&loaded.model, &[selector.to_owned()])
}

fn explain(
    stream: &mut Stream<'_>,
    model: &Model,
    (inference, registry): (&Inference, &Registry),
    values: &[ValueId],
    explanations: &[Explanation],
) -> Result<(), Failure> {
    let mut rest = explanations;
    for &value in values {
        let known = types::inferred(model, inference, value);
        stream.line(format_args!("{} is {known}", quoted(model, value)))?;
        let count = rest.iter().take_while(|explanation| explanation.unknown.value == value).count();
        let (own, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        rest = others;
        if own.is_empty() {
            stream.line(format_args!("  everything is known"))?;
        }
        for explanation in own {
            explain_part(stream, model, (inference, registry), explanation)?;
        }
    }
    Ok(())
}

/// Of a long chain, this many values are shown at its beginning and as many at its end.
const SHOWN_OF_CHAIN: usize = 16;

/// The beginning of a chain, the number of values that are not shown, and its end.
pub(super) fn ends(chain: &[ValueId]) -> (&[ValueId], usize, &[ValueId]) {
    let hidden = chain.len().saturating_sub(2 * SHOWN_OF_CHAIN);
    if hidden < 2 {
        return (chain, 0, &[]);
    }
    let (begin, rest) = chain.split_at(SHOWN_OF_CHAIN);
    (begin, hidden, rest.split_at(hidden).1)
}

fn explain_part(
    stream: &mut Stream<'_>,
    model: &Model,
    (inference, registry): (&Inference, &Registry),
    Explanation { unknown, chain }: &Explanation,
) -> Result<(), Failure> {
    stream.line(format_args!("  {} not known:", described(&unknown.missing)))?;
    let (begin, hidden, end) = ends(chain);
    for &step in begin {
        let lost = if end.is_empty() && begin.last() == Some(&step) { lost_here(unknown) } else { "" };
        stream.line(format_args!("    {}{}", made_by(model, step), paint(DIM, lost)))?;
    }
    if hidden > 0 {
        stream.line(format_args!("    … {} more …", plural(hidden as u64, "value")))?;
    }
    for &step in end {
        let lost = if end.last() == Some(&step) { lost_here(unknown) } else { "" };
        stream.line(format_args!("    {}{}", made_by(model, step), paint(DIM, lost)))?;
    }
    let gap =
        inference.gaps(unknown.origin).into_iter().find(|&gap| match (gap, &unknown.missing_at_origin) {
            (Gap::Size(axis), Missing::Sizes(axes)) => axes.contains(axis),
            (gap, missing) => Missing::from(gap) == *missing,
        });
    if let Some(reason) = gap.and_then(|gap| inference.reason(model, registry, unknown.origin, gap)) {
        stream.line(format_args!("    {reason}"))?;
    }
    if let Some((operand, cause)) = unknown_operand(model, inference, unknown) {
        let (operand, cause) = (quoted(model, operand), made_by(model, cause));
        stream
            .line(format_args!("    its operand {operand} is not known either, which begins at {cause}"))?;
    }
    let wanted = annotation(model, inference, unknown.origin, &unknown.missing_at_origin);
    // Exporters give one name to different sizes, so that inference does not take one that the inputs also use by itself.
    let sizes = "a size is a number, or a name; one that an input has counts with `--trust-names`";
    stream.line(format_args!("    to recover it, declare {wanted}; {sizes}"))
}

/// The operand of unknown rank of the node that lost sizes, and the value at which that begins.
fn unknown_operand(model: &Model, inference: &Inference, unknown: &Unknown) -> Option<(ValueId, ValueId)> {
    if !matches!(unknown.missing_at_origin, Missing::Sizes(_)) {
        return None;
    }
    model.node(unknown.node?).inputs().flatten().find_map(|operand| {
        let gaps = inference.gaps(operand);
        let gap = gaps.into_iter().find(|gap| matches!(gap, Gap::Type | Gap::Rank))?;
        let why = inference.why(model, operand, gap)?;
        Some((operand, *why.chain.last()?))
    })
}

/// Values that a report lists one by one; more are grouped by their cause.
const FEW: usize = 10;
/// Values of a group that are named.
const SHOWN_OF_GROUP: usize = 6;

fn report(stream: &mut Stream<'_>, model: &Model, report: &InferenceReport) -> Result<(), Failure> {
    if report.unknown.len() > FEW {
        groups(stream, model, report)?
    } else {
        listed(stream, model, report)?
    }
    if report.dropped > 0 {
        let dropped = plural(report.dropped, "more line");
        stream.line(format_args!("{dropped} left out (raise the limit `report_entries` to see them)"))?;
    }
    let values = plural(report.values, "value");
    stream.line(format_args!("{} of {values} not known completely", report.incomplete))
}

/// One line for each cause, in the order of their first values.
fn groups(stream: &mut Stream<'_>, model: &Model, report: &InferenceReport) -> Result<(), Failure> {
    let mut groups: Vec<(&Unknown, String, Vec<ValueId>)> = Vec::new();
    let mut known: HashMap<(ValueId, String), usize> = HashMap::new();
    for unknown in &report.unknown {
        let missing = part(&unknown.missing_at_origin);
        let index = *known.entry((unknown.origin, missing.clone())).or_insert(groups.len());
        match groups.get_mut(index) {
            Some((_, _, values)) => values.push(unknown.value),
            None => groups.push((unknown, missing, vec![unknown.value])),
        }
    }
    for (unknown, missing, mut values) in groups {
        values.dedup();
        let names = values.iter().take(SHOWN_OF_GROUP).map(|&value| quoted(model, value));
        let mut names: Vec<String> = names.collect();
        let hidden = values.len().saturating_sub(names.len());
        if hidden > 0 {
            names.push(format!("{hidden} more"));
        }
        let count = plural(values.len() as u64, "value");
        stream.line(format_args!(
            "{missing} of {}{}: {count}: {}",
            made_by(model, unknown.origin),
            paint(DIM, lost_here(unknown)),
            names.join(", ")
        ))?;
    }
    stream.line(format_args!("each line is a cause; `--format json` lists every value with its own"))
}

fn listed(stream: &mut Stream<'_>, model: &Model, report: &InferenceReport) -> Result<(), Failure> {
    for unknown in &report.unknown {
        let made_by = made_by(model, unknown.origin);
        let place = if unknown.origin == unknown.value {
            made_by
        } else {
            format!("{} of {made_by}", part(&unknown.missing_at_origin))
        };
        stream.line(format_args!(
            "{}: {}: {place}{}",
            quoted(model, unknown.value),
            part(&unknown.missing),
            paint(DIM, lost_here(unknown))
        ))?;
    }
    Ok(())
}

fn lost_here(unknown: &Unknown) -> &'static str {
    if unknown.node.is_some() { "  (lost here)" } else { "  (the model leaves it open)" }
}

fn part(missing: &Missing) -> String {
    match missing {
        Missing::Type => "the type".to_owned(),
        Missing::Elem => "the element type".to_owned(),
        Missing::Rank => "the rank".to_owned(),
        Missing::Sizes(axes) if axes.single().is_some() => format!("the size of {axes}"),
        Missing::Sizes(axes) => format!("the sizes of {axes}"),
    }
}

/// The part with its verb.
fn described(missing: &Missing) -> String {
    let is_plural = matches!(missing, Missing::Sizes(axes) if axes.single().is_none());
    format!("{} {}", part(missing), if is_plural { "are" } else { "is" })
}

fn quoted(model: &Model, value: ValueId) -> String {
    format!("`{}`", paint(KEY, shown(model.str(model.value(value).name()))))
}

/// A value with the node that makes it: `y` = Relu "r".
fn made_by(model: &Model, value: ValueId) -> String {
    let name = quoted(model, value);
    let value = model.value(value);
    let Some(node) = value.producer() else {
        let is_initializer = matches!(value.def(), Def::Initializer(_));
        return format!("{name}, an {}", if is_initializer { "initializer" } else { "input" });
    };
    let node = model.node(node);
    let op = shown(model.str(node.op()));
    match model.str(node.name()) {
        "" => format!("{name} = {op}"),
        label => format!("{name} = {op} \"{}\"", shown(label)),
    }
}

/// The smallest declaration that recovers what is missing.
fn annotation(model: &Model, inference: &Inference, value: ValueId, missing: &Missing) -> String {
    /// Beyond this rank, a type with a placeholder for each axis does not fit on a line.
    const MAX_RANK: usize = 32;
    let name = quoted(model, value);
    match missing {
        Missing::Type => format!("the type of {name}, with all its axes: float[N, 3] has two"),
        Missing::Elem => format!("the element type of {name}"),
        Missing::Rank => {
            format!("the shape of {name}, with all its axes: {}[N, 3] has two", elem(inference, value))
        }
        Missing::Sizes(axes) => {
            let rank = inference.shape(value).map_or(0, <[_]>::len);
            if rank == 0 || rank > MAX_RANK {
                return format!("{} of {name}", part(missing));
            }
            let dims: Vec<&str> =
                (0..rank).map(|axis| if axes.contains(axis) { "SIZE" } else { "?" }).collect();
            format!("{name} as {}[{}]", elem(inference, value), dims.join(", "))
        }
    }
}

fn elem(inference: &Inference, value: ValueId) -> &'static str {
    inference.elem(value).map_or("float", onnx_types::ElemType::name)
}
