//! The path to an element of a model, stored by value: [`Locus`], [`LocusStep`] and [`Position`].

use std::fmt;

use crate::escape::Name;

/// One step on the way from the model to a place in it.
///
/// Indices count from 0, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LocusStep {
    /// A graph: the main graph of the model, or the value of a graph attribute.
    Graph {
        /// The name of the graph.
        name: Name,
    },
    /// A function of the model.
    Function {
        /// The domain of the function.
        domain: Name,
        /// The name of the function.
        name: Name,
        /// The overload; usually empty.
        overload: Name,
    },
    /// A node of a graph or of a function.
    Node {
        /// The index of the node in its graph.
        index: usize,
        /// The operator type, with the domain in front where it helps: `Conv`, `com.example::Conv`.
        op: Name,
        /// The name of the node; usually empty.
        name: Name,
    },
    /// An input of a node, graph or function.
    Input {
        /// The position of the input.
        index: usize,
        /// The name of the value; empty for an omitted optional input.
        name: Name,
    },
    /// An output of a node, graph or function.
    Output {
        /// The position of the output.
        index: usize,
        /// The name of the value; empty for an omitted optional output.
        name: Name,
    },
    /// An attribute of a node, or a declared attribute of a function.
    Attribute {
        /// The name of the attribute.
        name: Name,
    },
    /// An initializer of a graph.
    Initializer {
        /// The name of the value it defines.
        name: Name,
    },
    /// A sparse initializer of a graph.
    SparseInitializer {
        /// The name of the value it defines.
        name: Name,
    },
    /// A value, wherever it is defined.
    Value {
        /// The name of the value.
        name: Name,
    },
    /// A value info entry.
    ValueInfo {
        /// The name of the value it describes.
        name: Name,
    },
    /// A quantization annotation.
    QuantizationAnnotation {
        /// The name of the tensor it annotates.
        name: Name,
    },
    /// A tensor that is the value of an attribute, or part of a sparse tensor.
    Tensor {
        /// The name of the tensor; usually empty.
        name: Name,
    },
    /// The type of a value, or the element type inside a sequence, map or optional type.
    Type,
    /// A dimension of a shape.
    Dimension {
        /// The axis.
        index: usize,
    },
    /// An element of a list, such as a value of an `INTS` attribute.
    Element {
        /// The position in the list.
        index: usize,
    },
    /// An opset import of the model or of a function.
    OpsetImport {
        /// The imported domain.
        domain: Name,
    },
    /// A metadata property.
    Metadata {
        /// The key.
        key: Name,
    },
    /// A training info entry.
    TrainingInfo {
        /// Its position among the training infos.
        index: usize,
    },
    /// A device configuration of the model or of a node.
    DeviceConfiguration {
        /// The name or id of the configuration.
        name: Name,
    },
    /// A field of a message, by its name in `onnx.proto`, where no other step says it better.
    Field {
        /// The name of the field.
        name: Name,
    },
}

impl fmt::Display for LocusStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graph { name } => named(f, "graph", name),
            Self::Function { domain, name, overload } => {
                write!(f, "function {name}")?;
                if !domain.is_empty() {
                    write!(f, " of domain {domain}")?;
                }
                if !overload.is_empty() {
                    write!(f, " overload {overload}")?;
                }
                Ok(())
            }
            Self::Node { index, op, name } => {
                write!(f, "node #{index}")?;
                if !op.is_empty() {
                    write!(f, " {}", op.bare())?;
                }
                if !name.is_empty() {
                    write!(f, " {name}")?;
                }
                Ok(())
            }
            Self::Input { index, name } => named(f, format_args!("input {index}"), name),
            Self::Output { index, name } => named(f, format_args!("output {index}"), name),
            Self::Attribute { name } => write!(f, "attribute {name}"),
            Self::Initializer { name } => write!(f, "initializer {name}"),
            Self::SparseInitializer { name } => write!(f, "sparse initializer {name}"),
            Self::Value { name } => write!(f, "value {name}"),
            Self::ValueInfo { name } => write!(f, "value info {name}"),
            Self::QuantizationAnnotation { name } => write!(f, "quantization annotation {name}"),
            Self::Tensor { name } => named(f, "tensor", name),
            Self::Type => f.write_str("type"),
            Self::Dimension { index } => write!(f, "dimension {index}"),
            Self::Element { index } => write!(f, "element {index}"),
            Self::OpsetImport { domain } => write!(f, "opset import {domain}"),
            Self::Metadata { key } => write!(f, "metadata {key}"),
            Self::TrainingInfo { index } => write!(f, "training info #{index}"),
            Self::DeviceConfiguration { name } => write!(f, "device configuration {name}"),
            Self::Field { name } => write!(f, "field {}", name.bare()),
        }
    }
}

/// Writes the kind and, unless it is empty, the name.
fn named(f: &mut fmt::Formatter<'_>, kind: impl fmt::Display, name: &Name) -> fmt::Result {
    if name.is_empty() { write!(f, "{kind}") } else { write!(f, "{kind} {name}") }
}

/// The source position of an element in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// The offset in bytes from the start of a binary file, counted from 0.
    Byte(u64),
    /// A span on one line of a text file.
    Text {
        /// The line, counted from 1.
        line: u32,
        /// The column in characters, counted from 1.
        column: u32,
        /// The length in characters; 0 and 1 both mark one character.
        length: u32,
    },
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Text { line, column, .. } => write!(f, "{line}:{column}"),
        }
    }
}

/// The path from a model to an element of it, with the source position if it is known.
///
/// Stores neither borrows nor keys, so it outlives the model and can be sent, stored and compared. It allocates; build
/// it only when there is something to report (see [`Sink::report_with`](crate::Sink::report_with)).
///
/// ```
/// use onnx_diag::Locus;
/// let place = Locus::model().graph("main").node(12, "Conv", "c1").input(1, "W").at_byte(4096);
/// assert_eq!(place.to_string(), r#"graph "main" / node #12 Conv "c1" / input 1 "W""#);
/// assert_eq!(Locus::model().to_string(), "model");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Locus {
    steps: Vec<LocusStep>,
    position: Option<Position>,
    selector: Option<Box<str>>,
}

impl Locus {
    /// The model as a whole, where every path starts.
    pub const fn model() -> Self {
        Self { steps: Vec::new(), position: None, selector: None }
    }

    /// The place that these steps lead to.
    pub fn from_steps(steps: Vec<LocusStep>) -> Self {
        Self { steps, position: None, selector: None }
    }

    /// Goes one step further; the position, if there was one, stays.
    #[must_use]
    pub fn then(mut self, step: LocusStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Goes into a graph.
    #[must_use]
    pub fn graph(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Graph { name: name.into() })
    }

    /// Goes into a function of the model.
    #[must_use]
    pub fn function(self, domain: impl Into<Name>, name: impl Into<Name>, overload: impl Into<Name>) -> Self {
        self.then(LocusStep::Function { domain: domain.into(), name: name.into(), overload: overload.into() })
    }

    /// Goes to a node.
    #[must_use]
    pub fn node(self, index: usize, op: impl Into<Name>, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Node { index, op: op.into(), name: name.into() })
    }

    /// Goes to an input of a node, graph or function.
    #[must_use]
    pub fn input(self, index: usize, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Input { index, name: name.into() })
    }

    /// Goes to an output of a node, graph or function.
    #[must_use]
    pub fn output(self, index: usize, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Output { index, name: name.into() })
    }

    /// Goes to an attribute.
    #[must_use]
    pub fn attribute(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Attribute { name: name.into() })
    }

    /// Goes to an initializer.
    #[must_use]
    pub fn initializer(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Initializer { name: name.into() })
    }

    /// Goes to a sparse initializer.
    #[must_use]
    pub fn sparse_initializer(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::SparseInitializer { name: name.into() })
    }

    /// Goes to a value.
    #[must_use]
    pub fn value(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Value { name: name.into() })
    }

    /// Goes to a value info entry.
    #[must_use]
    pub fn value_info(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::ValueInfo { name: name.into() })
    }

    /// Goes to a quantization annotation.
    #[must_use]
    pub fn quantization_annotation(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::QuantizationAnnotation { name: name.into() })
    }

    /// Goes to a tensor.
    #[must_use]
    pub fn tensor(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Tensor { name: name.into() })
    }

    /// Goes to the type of the place.
    #[must_use]
    pub fn ty(self) -> Self {
        self.then(LocusStep::Type)
    }

    /// Goes to a dimension of a shape.
    #[must_use]
    pub fn dimension(self, index: usize) -> Self {
        self.then(LocusStep::Dimension { index })
    }

    /// Goes to an element of a list.
    #[must_use]
    pub fn element(self, index: usize) -> Self {
        self.then(LocusStep::Element { index })
    }

    /// Goes to an opset import.
    #[must_use]
    pub fn opset_import(self, domain: impl Into<Name>) -> Self {
        self.then(LocusStep::OpsetImport { domain: domain.into() })
    }

    /// Goes to a metadata property.
    #[must_use]
    pub fn metadata(self, key: impl Into<Name>) -> Self {
        self.then(LocusStep::Metadata { key: key.into() })
    }

    /// Goes to a training info entry.
    #[must_use]
    pub fn training_info(self, index: usize) -> Self {
        self.then(LocusStep::TrainingInfo { index })
    }

    /// Goes to a device configuration.
    #[must_use]
    pub fn device_configuration(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::DeviceConfiguration { name: name.into() })
    }

    /// Goes to a field of a message, by its name in `onnx.proto`.
    #[must_use]
    pub fn field(self, name: impl Into<Name>) -> Self {
        self.then(LocusStep::Field { name: name.into() })
    }

    /// Sets the source position; `None` leaves it unchanged.
    #[must_use]
    pub fn at(mut self, position: impl Into<Option<Position>>) -> Self {
        self.position = position.into().or(self.position);
        self
    }

    /// Sets the byte of a binary file at which the element starts.
    #[must_use]
    pub fn at_byte(self, offset: u64) -> Self {
        self.at(Position::Byte(offset))
    }

    /// Sets the line and column of a text file at which the element starts, each counted from 1, and its number of
    /// characters.
    #[must_use]
    pub fn at_text(self, line: u32, column: u32, length: u32) -> Self {
        self.at(Position::Text { line, column, length })
    }

    /// Sets the selector of the element that the place is in. A locus does not compute it, because this needs the model.
    #[must_use]
    pub fn with_selector(mut self, selector: Option<String>) -> Self {
        self.selector = selector.map(String::into_boxed_str);
        self
    }

    /// The selector of the element that the place is in; `None` if it has none, or was not set.
    pub fn selector(&self) -> Option<&str> {
        self.selector.as_deref()
    }

    /// The steps from the model to the place; empty for the model itself.
    pub fn steps(&self) -> &[LocusStep] {
        &self.steps
    }

    /// The source position, if it is known.
    pub const fn position(&self) -> Option<Position> {
        self.position
    }
}

/// Number of steps at the start and at the end of a long path that the short form shows.
const SHOWN: (usize, usize) = (4, 7);

/// The steps from the model to the place. In the alternate form (`{:#}`), which is for people, the middle of a path through
/// many nested graphs is left out.
impl fmt::Display for Locus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("model");
        }
        let (start, end) = SHOWN;
        let left_out = match self.steps.len().saturating_sub(start + end) {
            // Saying that one step is left out takes as much room as the step.
            0 | 1 => 0,
            left_out if f.alternate() => left_out,
            _ => 0,
        };
        for (i, step) in self.steps.iter().enumerate() {
            let separator = if i == 0 { "" } else { " / " };
            if left_out == 0 || !(start..start + left_out).contains(&i) {
                write!(f, "{separator}{step}")?;
            } else if i == start {
                write!(f, "{separator}\u{2026} {left_out} steps \u{2026}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_short_for_people() {
        let deep = (0..50).fold(Locus::model(), |locus, level| {
            locus.graph("g").node(level, "If", "").attribute("then_branch")
        });
        let short = format!("{deep:#}");
        assert!(short.starts_with(
            r#"graph "g" / node #0 If / attribute "then_branch" / graph "g" / … 139 steps … / "#
        ));
        assert!(short.ends_with(r#"/ graph "g" / node #49 If / attribute "then_branch""#), "{short}");
        assert_eq!(short.matches(" / ").count(), 11, "{short}");
        assert_eq!(deep.to_string().matches(" / ").count(), 149, "the whole path is there for machines");
        let twelve =
            (0..4).fold(Locus::model(), |locus, level| locus.graph("g").node(level, "If", "").attribute("b"));
        assert_eq!(format!("{twelve:#}"), twelve.to_string());
    }

    #[test]
    fn every_step_has_its_words() {
        let m = Locus::model;
        for (locus, want) in [
            (m(), "model"),
            (m().graph(""), "graph"),
            (m().graph("g").initializer("W"), r#"graph "g" / initializer "W""#),
            (m().function("", "f", ""), r#"function "f""#),
            (
                m().function("d", "f", "o").node(0, "", ""),
                r#"function "f" of domain "d" overload "o" / node #0"#,
            ),
            (
                m().graph("g").node(3, "If", "").attribute("then_branch"),
                r#"graph "g" / node #3 If / attribute "then_branch""#,
            ),
            (
                m().graph("g").output(0, "y").ty().dimension(2),
                r#"graph "g" / output 0 "y" / type / dimension 2"#,
            ),
            (m().graph("g").input(2, ""), r#"graph "g" / input 2"#),
            (m().opset_import(""), r#"opset import """#),
            (m().metadata("k"), r#"metadata "k""#),
            (m().training_info(0).graph("t"), r#"training info #0 / graph "t""#),
            (
                m().graph("g").value_info("x").field("denotation"),
                r#"graph "g" / value info "x" / field denotation"#,
            ),
            (m().graph("g").value("v"), r#"graph "g" / value "v""#),
            (
                m().graph("g").sparse_initializer("s").tensor("").element(7),
                r#"graph "g" / sparse initializer "s" / tensor / element 7"#,
            ),
            (m().graph("g").quantization_annotation("q"), r#"graph "g" / quantization annotation "q""#),
            (m().device_configuration("gpus"), r#"device configuration "gpus""#),
        ] {
            assert_eq!(locus.to_string(), want);
        }
    }

    #[test]
    fn hostile_names_stay_on_one_line() {
        let place = Locus::model().graph("a\n\"b\"").node(1, "Re\x1b[31mlu", "\u{202e}");
        assert_eq!(place.to_string(), r#"graph "a\n\"b\"" / node #1 Re\u{1b}[31mlu "\u{202e}""#);
        let long = Locus::model().value("x".repeat(1 << 20)).to_string();
        assert!(long.len() < 200, "{}", long.len());
    }

    #[test]
    fn an_unknown_position_keeps_the_known_one() {
        let place = Locus::model().at_byte(7).at(None);
        assert_eq!(place.position(), Some(Position::Byte(7)));
        assert_eq!(place.at_text(1, 2, 3).position().map(|p| p.to_string()).as_deref(), Some("1:2"));
    }
}
