//! Generates the typed views and builders of `onnx-ops`.
//!
//! The unit is the *role*: a parameter or operand of an operator across its versions. Inputs and attributes of one name, in
//! snake case, are one role; [`ALIASES`] joins those that only changed their name.

mod derived;
mod make;

use std::fmt::Write as _;

use super::facts::{Attribute, Facts, Formal, Schema};
use super::names::{Names, constant};
use make::ATTRIBUTE_ORDER;

/// Names of inputs and attributes that later versions renamed without changing their meaning: operator, old, new.
const ALIASES: [(&str, &str, &str); 4] = [
    ("Pad", "paddings", "pads"),
    ("Pad", "value", "constant_value"),
    ("BatchNormalization", "mean", "input_mean"),
    ("BatchNormalization", "var", "input_var"),
];

/// Names of outputs that later versions renamed without changing their meaning.
const OUTPUT_ALIASES: [(&str, &str, &str); 2] =
    [("BatchNormalization", "mean", "running_mean"), ("BatchNormalization", "var", "running_var")];

/// Methods of `View` and `Make` themselves.
const RESERVED: [&str; 9] =
    ["call", "within", "of", "try_of", "name", "output", "outputs_if", "node", "from_call"];

/// Words that are not identifiers.
const KEYWORDS: [&str; 6] = ["if", "loop", "where", "mod", "type", "else"];

/// The generated modules: name, domain, description.
pub(super) const MODULES: [(&str, &str, &str); 4] = [
    ("onnx", "", "The operators of the default domain."),
    ("ml", "ai.onnx.ml", "The operators of the domain `ai.onnx.ml`."),
    ("preview", "ai.onnx.preview", "The operators of the domain `ai.onnx.preview`."),
    ("training", "ai.onnx.preview.training", "The operators of the domain `ai.onnx.preview.training`."),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Attr(usize),
    Input(usize),
    None,
}

/// A parameter or operand of an operator across its versions.
struct Role<'f> {
    name: String,
    /// By version: where the version has it.
    places: Vec<(u16, Place)>,
    /// The newest declaration as an input.
    input: Option<&'f Formal>,
    /// The newest declaration as an attribute.
    attribute: Option<&'f Attribute>,
}

/// An output of an operator across its versions.
struct Output<'f> {
    /// The method: the name in snake case with the prefix `out_`.
    name: String,
    /// By version: its index, if the version has it.
    places: Vec<(u16, Option<usize>)>,
    /// The newest declaration.
    formal: &'f Formal,
}

/// All versions of one operator.
struct Operator<'f> {
    name: &'f str,
    versions: &'f [Schema],
    roles: Vec<Role<'f>>,
    outputs: Vec<Output<'f>>,
    /// Names of attributes, which `Place::Attr` indexes.
    attributes: Vec<&'f str>,
}

/// The source of the module of a domain.
pub(super) fn source(facts: &Facts, domain: &str, description: &str) -> Result<String, String> {
    let mut out = format!("//! {description}\n\n");
    out.push_str("use onnx_ir::{AttrValue, Builder, GraphId, SparseTensor, ValueId};\n");
    out.push_str("use onnx_schema::{attr, domain, op};\nuse onnx_types::tensor::Tensor;\nuse onnx_types::{ElemType, Symbol, Type};\n\n");
    out.insert_str(out.find("use onnx_ir").unwrap_or_default(), "use std::borrow::Cow;\n\n");
    out.push_str(
        "use crate::call::{Operator, Outputs, Place, Places, View};\nuse crate::make::{Arg, Make};\n",
    );
    out.push_str("use crate::derived::{Known, or_derived, or_derived_int};\n");
    out.push_str("use crate::param::{Param, Texts, kind};\n\n");
    let schemas: Vec<&Schema> = facts.core.schemas.iter().filter(|schema| schema.domain == domain).collect();
    let first = facts.core.schemas.iter().position(|schema| schema.domain == domain).unwrap_or_default();
    let all = facts.core.schemas.get(first..first + schemas.len()).unwrap_or_default();
    for versions in all.chunk_by(|a, b| a.op == b.op) {
        Operator::of(versions)?.write(&mut out, domain);
    }
    Ok(strip_unused(&out))
}

/// Leaves out the imports that a small domain does not need.
fn strip_unused(source: &str) -> String {
    let Some((head, body)) = source.split_once("\n\n/// `") else { return source.to_owned() };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let code: String =
        body.lines().skip(1).filter(|line| !line.starts_with("///")).collect::<Vec<_>>().join("\n");
    let is_used = |word: &str| {
        code.match_indices(word).any(|(at, _)| {
            let (before, after) = (&code[..at], &code[at + word.len()..]);
            !before.ends_with(is_word) && !before.ends_with("::") && !after.starts_with(is_word)
        })
    };
    let mut lines = Vec::new();
    for line in head.lines() {
        let Some((path, names)) = line.strip_prefix("use ").and_then(|rest| rest.rsplit_once("::")) else {
            lines.push(line.to_owned());
            continue;
        };
        let names: Vec<&str> =
            names.trim_matches(['{', '}', ';']).split(", ").filter(|name| is_used(name)).collect();
        if !names.is_empty() {
            lines.push(format!("use {path}::{{{}}};", names.join(", ")));
        }
    }
    format!("{}\n\n/// `{body}", lines.join("\n"))
}

impl<'f> Operator<'f> {
    fn of(versions: &'f [Schema]) -> Result<Self, String> {
        let name = versions.first().map_or("", |schema| schema.op.as_str());
        let mut operator =
            Self { name, versions, roles: Vec::new(), outputs: Vec::new(), attributes: Vec::new() };
        for schema in versions {
            for (index, formal) in schema.inputs.iter().enumerate() {
                let role = alias(&ALIASES, name, &snake(&formal.name));
                operator.add(schema.since, role, Place::Input(index), |role| role.input = Some(formal));
            }
            for attribute in &schema.attributes {
                let mut role = alias(&ALIASES, name, &snake(&attribute.name));
                if schema.inputs.iter().any(|formal| snake(&formal.name) == role) {
                    role.push_str("_attr");
                }
                let index = operator.attribute(&attribute.name);
                let set = |role: &mut Role<'f>| role.attribute = Some(attribute);
                operator.add(schema.since, role, Place::Attr(index), set);
            }
            for (index, formal) in schema.outputs.iter().enumerate() {
                let output = format!("out_{}", alias(&OUTPUT_ALIASES, name, &snake(&formal.name)));
                operator.add_output(schema.since, output, index, formal);
            }
            operator.end_version(schema.since);
        }
        operator.sort();
        operator.check_attribute_order()?;
        for role in &operator.roles {
            if RESERVED.contains(&role.name.as_str()) {
                return Err(format!("the parameter `{}` of {name} has the name of a method", role.name));
            }
        }
        Ok(operator)
    }

    fn attribute(&mut self, name: &'f str) -> usize {
        let known = self.attributes.iter().position(|other| *other == name);
        known.unwrap_or_else(|| {
            self.attributes.push(name);
            self.attributes.len() - 1
        })
    }

    fn add(&mut self, since: u16, name: String, place: Place, set: impl FnOnce(&mut Role<'f>)) {
        let index = self.roles.iter().position(|role| role.name == name).unwrap_or_else(|| {
            self.roles.push(Role { name, places: Vec::new(), input: None, attribute: None });
            self.roles.len() - 1
        });
        let role = &mut self.roles[index];
        if role.places.last().is_none_or(|&(_, last)| last != place) {
            role.places.push((since, place));
        }
        set(role);
    }

    fn add_output(&mut self, since: u16, name: String, index: usize, formal: &'f Formal) {
        let at = self.outputs.iter().position(|output| output.name == name).unwrap_or_else(|| {
            self.outputs.push(Output { name, places: Vec::new(), formal });
            self.outputs.len() - 1
        });
        let output = &mut self.outputs[at];
        if output.places.last().is_none_or(|&(_, last)| last != Some(index)) {
            output.places.push((since, Some(index)));
        }
        output.formal = formal;
    }

    /// Records the absence of what the version does not declare.
    fn end_version(&mut self, since: u16) {
        let Some(schema) = self.versions.iter().find(|schema| schema.since == since) else { return };
        for role in &mut self.roles {
            let name = |found: &str| alias(&ALIASES, &schema.op, &snake(found));
            let is_input = schema.inputs.iter().any(|formal| name(&formal.name) == role.name);
            let is_attribute = schema.attributes.iter().any(|attribute| {
                let base = name(&attribute.name);
                role.name == base || role.name.strip_suffix("_attr") == Some(&base)
            });
            if !is_input && !is_attribute && role.places.last().is_some_and(|&(_, last)| last != Place::None)
            {
                role.places.push((since, Place::None));
            }
        }
        for output in &mut self.outputs {
            let is_there = schema.outputs.iter().any(|formal| {
                format!("out_{}", alias(&OUTPUT_ALIASES, &schema.op, &snake(&formal.name))) == output.name
            });
            if !is_there && output.places.last().is_some_and(|&(_, last)| last.is_some()) {
                output.places.push((since, None));
            }
        }
    }

    /// Sorts the roles: operands as the newest version has them, attributes in the order of [`ATTRIBUTE_ORDER`] and then of
    /// their names, and at last what only older versions have.
    fn sort(&mut self) {
        let row = ATTRIBUTE_ORDER.iter().find(|(op, _)| *op == self.name);
        self.roles.sort_by_key(|role| match role.places.last() {
            Some((_, Place::Input(index))) => (0, *index),
            Some((_, Place::Attr(_))) => {
                let listed = row.and_then(|(_, names)| names.iter().position(|name| *name == role.name));
                (1, listed.unwrap_or(usize::MAX))
            }
            Some((_, Place::None)) | None => (2, 0),
        });
    }

    fn first(&self) -> u16 {
        self.versions.first().map_or(0, |schema| schema.since)
    }

    fn newest(&self) -> Option<&'f Schema> {
        self.versions.last()
    }

    fn write(&self, out: &mut String, domain: &str) {
        let versions: Vec<String> = self.versions.iter().map(|schema| schema.since.to_string()).collect();
        let _ = writeln!(out, "/// `{}`, versions {}.\n///", self.name, versions.join(", "));
        self.write_signature(out);
        let (name, constant) = (self.name, constant(self.name));
        let _ = writeln!(out, "#[derive(Clone, Copy, Debug)]\npub enum {name} {{}}\n");
        let _ = writeln!(
            out,
            "impl Operator for {name} {{\nconst DOMAIN: Symbol = {};\nconst OP: Symbol = op::{constant};\n}}\n",
            Names::domain(domain)
        );
        self.write_places(out);
        self.write_view(out, domain);
        if self.newest().is_some_and(|schema| !schema.deprecated) {
            self.write_make(out);
        }
    }

    /// The signature of the newest version, as documentation.
    fn write_signature(&self, out: &mut String) {
        let Some(newest) = self.newest() else { return };
        if newest.deprecated {
            let _ = writeln!(out, "/// Deprecated since version {}.\n///", newest.since);
        }
        for (title, formals) in [("input", &newest.inputs), ("output", &newest.outputs)] {
            for formal in formals {
                let option = match formal.option.as_deref() {
                    Some("Optional") => ", optional",
                    Some("Variadic") => ", variadic",
                    _ => "",
                };
                let _ = writeln!(out, "/// * {title} `{}`: `{}`{option}", formal.name, formal.ty);
            }
        }
        for attribute in &newest.attributes {
            let default = match &attribute.default {
                Some(default) => format!(", default `{default}`"),
                None if attribute.required => ", required".to_owned(),
                None => ", optional".to_owned(),
            };
            let _ = writeln!(out, "/// * attribute `{}`: {}{default}", attribute.name, attribute.kind);
        }
        let determinism = match newest.determinism.as_str() {
            "Deterministic" => "Equal inputs give equal outputs.",
            "NonDeterministic" => "Equal inputs may give different outputs.",
            _ => "Whether equal inputs give equal outputs is not specified.",
        };
        let _ = writeln!(out, "///\n/// {determinism}");
    }

    /// The constants of roles and outputs that depend on the version.
    fn write_places(&self, out: &mut String) {
        let mut body = String::new();
        for role in self.roles.iter().filter(|role| self.is_irregular(role)) {
            let _ = writeln!(body, "/// Where each version has `{}`.", role.name);
            let places: Vec<String> = role
                .places
                .iter()
                .map(|&(since, place)| match place {
                    Place::Attr(index) => {
                        format!("({since}, Place::Attr({}))", attr_constant(self.attributes[index]))
                    }
                    Place::Input(index) => format!("({since}, Place::Input({index}))"),
                    Place::None => format!("({since}, Place::None)"),
                })
                .collect();
            let name = role.name.to_uppercase();
            let _ = writeln!(body, "pub const {name}: Places = &[{}];", places.join(", "));
        }
        for Output { name: output, places, .. } in
            self.outputs.iter().filter(|output| !self.is_regular(&output.places))
        {
            let _ = writeln!(body, "/// Where each version has the output `{}`.", &output[4..]);
            let places: Vec<String> =
                places.iter().map(|(since, index)| format!("({since}, {index:?})")).collect();
            let _ =
                writeln!(body, "pub const {}: Outputs = &[{}];", output.to_uppercase(), places.join(", "));
        }
        if !body.is_empty() {
            let _ = writeln!(out, "impl {} {{\n{body}}}\n", self.name);
        }
    }

    /// Returns `true` if all versions have an output at one index.
    fn is_regular(&self, places: &[(u16, Option<usize>)]) -> bool {
        matches!(places, [(since, Some(_))] if *since == self.first())
    }

    /// Returns `true` if where a version has a role depends on the version.
    fn is_irregular(&self, role: &Role<'_>) -> bool {
        match role.places.as_slice() {
            // The schema of a version tells whether it declares an attribute.
            [(_, Place::Attr(_))] | [(_, Place::Attr(_)), (_, Place::None)] => false,
            [(since, Place::Input(_))] => *since != self.first(),
            places => !places.iter().all(|(_, place)| match (place, role.attribute) {
                (Place::Attr(index), Some(newest)) => self.attributes[*index] == newest.name,
                (Place::None, Some(_)) => role.input.is_none(),
                _ => false,
            }),
        }
    }

    fn write_view(&self, out: &mut String, domain: &str) {
        let _ = writeln!(out, "impl<'m> View<'m, {}> {{", self.name);
        for role in &self.roles {
            let (name, upper) = (identifier(&role.name), role.name.to_uppercase());
            let is_irregular = self.is_irregular(role);
            let variadic = role.input.filter(|formal| formal.option.as_deref() == Some("Variadic"));
            match (role.attribute, role.input) {
                (None, Some(formal)) if variadic.is_some() => {
                    let index = input_index(role);
                    let _ = writeln!(
                        out,
                        "/// The inputs `{}`, from index {index} on.\n#[inline]\npub fn {name}(&self) -> impl ExactSizeIterator<Item = Option<ValueId>> + DoubleEndedIterator + use<'m> {{ self.call().inputs_from({index}) }}\n",
                        formal.name
                    );
                }
                (None, Some(formal)) => {
                    let read = if is_irregular {
                        format!("self.call().operand({}::{upper})", self.name)
                    } else {
                        format!("self.call().input({})", input_index(role))
                    };
                    let option = if formal.option.as_deref() == Some("Optional") { ", optional" } else { "" };
                    let _ = writeln!(
                        out,
                        "/// Input `{}`{option}.\n#[must_use]\n#[inline]\npub fn {name}(&self) -> Option<ValueId> {{ {read} }}\n",
                        formal.name
                    );
                }
                (Some(attribute), _) => {
                    let kind = kind(&attribute.kind);
                    let (what, read) = if is_irregular {
                        (describe(role), format!("param::<kind::{kind}>({}::{upper})", self.name))
                    } else {
                        let constant = attr_constant(&attribute.name);
                        (
                            format!("Attribute `{}`", attribute.name),
                            format!("attr::<kind::{kind}>({constant})"),
                        )
                    };
                    let _ = writeln!(
                        out,
                        "/// {what}.\n#[must_use]\n#[inline]\npub fn {name}(&self) -> Param<{}> {{ self.call().{read} }}\n",
                        value_type(kind)
                    );
                    self.write_or_default(out, role, attribute, domain);
                }
                (None, None) => {}
            }
        }
        out.push_str(&self.outputs.iter().map(|output| self.view_of_output(output)).collect::<String>());
        out.push_str("}\n\n");
    }

    /// The method of a view for an output.
    fn view_of_output(&self, Output { name: output, places, formal }: &Output<'_>) -> String {
        let index = places.iter().rev().find_map(|(_, index)| *index).unwrap_or_default();
        let option = if formal.option.as_deref() == Some("Optional") { ", optional" } else { "" };
        if formal.option.as_deref() == Some("Variadic") {
            return format!(
                "/// The outputs `{}`, from index {index} on.\n#[must_use]\n#[inline]\npub fn {output}(&self) -> &'m [Option<ValueId>] {{ self.call().outputs_from({index}) }}\n\n",
                formal.name.trim_end_matches("...")
            );
        }
        let read = if self.is_regular(places) {
            format!("output({index})")
        } else {
            format!("output_at({}::{})", self.name, output.to_uppercase())
        };
        format!(
            "/// Output `{}`{option}.\n#[must_use]\n#[inline]\npub fn {output}(&self) -> Option<ValueId> {{ self.call().{read} }}\n\n",
            formal.name
        )
    }
}

/// The index of a role that is an input.
fn input_index(role: &Role<'_>) -> usize {
    let index = role.places.iter().rev().find_map(|&(_, place)| match place {
        Place::Input(index) => Some(index),
        _ => None,
    });
    index.unwrap_or_default()
}

/// Where versions have a role, in words.
fn describe(role: &Role<'_>) -> String {
    let words: Vec<String> = role
        .places
        .iter()
        .map(|&(since, place)| match place {
            Place::Attr(_) => format!("an attribute since version {since}"),
            Place::Input(index) => format!("input {index} since version {since}"),
            Place::None => format!("absent since version {since}"),
        })
        .collect();
    format!("`{}`: {}", role.name, words.join(", "))
}

fn kind(name: &str) -> &'static str {
    match name {
        "INT" => "Int",
        "FLOAT" => "Float",
        "STRING" => "Text",
        "INTS" => "Ints",
        "FLOATS" => "Floats",
        "STRINGS" => "Texts",
        "TENSOR" => "Tensor",
        "SPARSE_TENSOR" => "Sparse",
        "GRAPH" => "Graph",
        _ => "Type",
    }
}

/// The type of a value of a kind.
fn value_type(kind: &str) -> &'static str {
    match kind {
        "Int" => "i64",
        "Float" => "f32",
        "Text" => "&'m [u8]",
        "Ints" => "Cow<'m, [i64]>",
        "Floats" => "Cow<'m, [f32]>",
        "Texts" => "Texts<'m>",
        "Tensor" => "&'m Tensor",
        "Sparse" => "&'m SparseTensor",
        "Graph" => "GraphId",
        _ => "&'m Type",
    }
}

fn attr_constant(name: &str) -> String {
    format!("attr::{}", constant(name))
}

fn alias(aliases: &[(&str, &str, &str)], op: &str, name: &str) -> String {
    let found = aliases.iter().find(|(operator, old, _)| *operator == op && *old == name);
    found.map_or_else(|| name.to_owned(), |(_, _, new)| (*new).to_owned())
}

/// A name in snake case.
fn snake(name: &str) -> String {
    constant(name.trim_end_matches("...")).to_lowercase()
}

fn identifier(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}
