//! The traits of an operator in words.

use std::fmt::Write as _;

use onnx_schema::traits::{
    AxisDomain, Broadcast, Combines, CostWeight, Elements, Operations, Rounding, Window,
};
use onnx_schema::{Schema, Traits};
use onnx_types::Symbol;

use super::Operator;

/// The section of a page: the traits of the newest version, and those of older ones that differ.
pub(super) fn section(text: &mut String, operator: &Operator<'_>) -> std::fmt::Result {
    text.push_str("\n## Traits\n\n");
    let mut told: Vec<(&Schema, Vec<String>)> = Vec::new();
    for schema in operator.schemas {
        let lines = lines(schema);
        match told.last_mut() {
            Some((_, before)) if *before == lines => {}
            _ => told.push((schema, lines)),
        }
    }
    for (index, (schema, lines)) in told.iter().enumerate().rev() {
        let next = index.checked_add(1).and_then(|next| told.get(next));
        if let Some((next, _)) = next {
            writeln!(text, "\nBefore version {}:\n", next.since_version())?;
        } else if index > 0 {
            writeln!(text, "From version {} on:\n", schema.since_version())?;
        }
        match lines.as_slice() {
            [] => writeln!(text, "* nothing is stated")?,
            lines => writeln!(text, "* {}", lines.join("\n* "))?,
        }
    }
    if let Some(replacement) = operator.newest.replacement().and_then(onnx_schema::known_name) {
        writeln!(text, "\n`{replacement}` takes its place.")?;
    }
    Ok(())
}

/// The text of a name of ONNX.
fn name_of(name: Symbol) -> &'static str {
    onnx_schema::known_name(name).unwrap_or_default()
}

fn lines(schema: &Schema) -> Vec<String> {
    let traits = schema.traits();
    let mut lines: Vec<String> = Vec::new();
    lines.extend(elements(traits).map(str::to_owned));
    lines.extend(rounding(traits).map(str::to_owned));
    lines.extend(broadcast(traits).map(str::to_owned));
    lines.extend(combines(traits));
    lines.extend(operations(traits));
    lines.extend(weight(traits).map(str::to_owned));
    match traits.window() {
        Some(Window::Pooling) => lines.push("moves a window".to_owned()),
        Some(Window::Weights(index)) => {
            lines.push(format!("moves a window with the weights of input {index}"))
        }
        _ => {}
    }
    for (is_so, words) in [
        (traits.contracts(), "computes as much for each element as there are elements of another axis"),
        (traits.cannot_fail(), "cannot fail"),
        (traits.may_be_undefined(), "results are open for some operands"),
        (traits.orders_zeros(), "of 0.0 and -0.0, either may be the greater one"),
        (traits.makes_positions(), "makes sizes or positions"),
        (traits.jumps(), "jumps where an operand passes a number"),
        (traits.chooses(), "operands choose elements, as indices, bounds or keys"),
        (traits.is_piecewise(), "is not a polynomial of sizes"),
    ] {
        lines.extend(is_so.then(|| words.to_owned()));
    }
    if let [first, others @ ..] = traits.scalars() {
        let all = others.iter().fold(first.to_string(), |all, index| format!("{all}, {index}"));
        lines.push(format!("one number each: input {all}"));
    }
    lines.extend(schema.attributes().iter().filter_map(|formal| attribute(schema, formal.name)));
    for set in schema.exclusions() {
        let parts = set.parts.iter().map(|part| match part.attribute() {
            Some(name) => format!("`{}`", name_of(name)),
            None => "an input".to_owned(),
        });
        let count = if set.is_needed { "exactly one" } else { "at most one" };
        lines.push(format!("{count} of {}", parts.collect::<Vec<_>>().join(", ")));
    }
    lines
}

const fn elements(traits: &Traits) -> Option<&'static str> {
    Some(match traits.elements() {
        Elements::Same => "returns its operand",
        Elements::Elementwise => "elementwise",
        Elements::ElementwiseFirst => "elementwise in the first operand; the others are parameters",
        Elements::Normalized => "keeps the indices of elements, and combines them along axes",
        Elements::Reshaped => "changes the sizes only",
        Elements::Reordered => "changes the order of elements",
        Elements::Selected => "selects or repeats elements",
        Elements::Joined => "joins the elements of all operands",
        _ => return None,
    })
}

const fn rounding(traits: &Traits) -> Option<&'static str> {
    Some(match traits.rounding() {
        Rounding::Exact => "rounds nothing: elements are moved, counted or compared",
        Rounding::Order => "rounds nothing: elements are chosen by their order",
        Rounding::Once => "rounds once",
        Rounding::Never => "has exact results",
        Rounding::Accumulates => "accumulates: exact for integers",
        Rounding::Converts => "converts elements",
        _ => return None,
    })
}

const fn broadcast(traits: &Traits) -> Option<&'static str> {
    Some(match traits.broadcast() {
        Broadcast::All if traits.commutes() => "broadcasts its operands; two of them commute",
        Broadcast::All => "broadcasts its operands",
        Broadcast::ToFirst => "broadcasts operands to the first one",
        _ => return None,
    })
}

fn combines(traits: &Traits) -> Option<String> {
    let name = |name| format!("`{}`", name_of(name));
    Some(match traits.combines() {
        Combines::Axis(axis) => format!("combines elements along {}", name(axis)),
        Combines::From(axis) => format!("combines elements along {} and the axes behind it", name(axis)),
        Combines::Axes(axes) => format!("combines elements along {}", name(axes)),
        Combines::AxisOrAll(axis) => {
            format!("combines elements along {}, or all axes without it", name(axis))
        }
        Combines::Operand(index) => format!("combines elements along the axis of input {index}"),
        Combines::Reduced => "combines elements along the axes that it reduces".to_owned(),
        Combines::LastTwo => "combines elements along the last two axes".to_owned(),
        Combines::All => "combines elements along all axes".to_owned(),
        Combines::AllButFirst => {
            "has the batch on the first axis, and combines elements along all others".to_owned()
        }
        Combines::Loss => {
            "combines elements along all axes; along all but the first one if `reduction` is `none`"
                .to_owned()
        }
        _ => return None,
    })
}

fn operations(traits: &Traits) -> Option<String> {
    let both = |read, made, of| match made {
        0 => format!("operations: {read} for each element {of}"),
        made => format!("operations: {read} for each element {of}, {made} for each of the result"),
    };
    Some(match traits.operations() {
        Operations::None => "no operations".to_owned(),
        Operations::Each(count) => format!("operations: {count} for each element of the result"),
        Operations::Operands { more: 0 } => {
            "operations: one less than operands for each element of the result".to_owned()
        }
        Operations::Operands { .. } => {
            "operations: one for each operand and element of the result".to_owned()
        }
        Operations::Read { read, made } => both(read, made, "that is read"),
        Operations::Window { read, made } => both(read, made, "of the window"),
        Operations::Convolution { .. } | Operations::MatrixProduct => {
            "operations: those of a sum of products for each element of the result".to_owned()
        }
        Operations::Recurrent { .. } | Operations::Formula => "operations: by a formula".to_owned(),
        _ => return None,
    })
}

const fn weight(traits: &Traits) -> Option<&'static str> {
    Some(match traits.weight() {
        CostWeight::Sizes => "work: states sizes",
        CostWeight::Moves => "work: moves elements",
        CostWeight::Function => "work: a function of each element",
        CostWeight::Heavy => "work: many operations for each element",
        _ => return None,
    })
}

/// What an attribute can be.
fn attribute(schema: &Schema, name: Symbol) -> Option<String> {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(schema.attribute_range(name).map(|range| match range.into_inner() {
        (least, i64::MAX) => format!("{least} or more"),
        (least, most) => format!("{least} to {most}"),
    }));
    let axes = schema.axis_domain(name).and_then(|domain| {
        Some(match domain {
            AxisDomain::Own => "-r to r - 1, with r axes of the first input",
            AxisDomain::Cuts => "-r to r, with r axes of the first input",
            AxisDomain::CutsFromFront => "0 to r, with r axes of the first input",
            AxisDomain::OneMore => "-r - 1 to r, with r axes of the first input",
            AxisDomain::Inserted => "an axis of the result",
            _ => return None,
        })
    });
    facts.extend(axes.map(str::to_owned));
    facts.extend(schema.choices(name).map(|choices| format!("one of {}", choices.join(", "))));
    if schema.names_element_type(name) {
        facts.push("an element type".to_owned());
    }
    (!facts.is_empty()).then(|| format!("`{}`: {}", name_of(name), facts.join("; ")))
}
