//! The methods `…_or_default` of attributes whose default depends on the node.

use std::fmt::Write as _;

use super::super::absence::{Absence, DerivedDefault, absence_of};
use super::{Attribute, Operator, Role, attr_constant, identifier};

impl Operator<'_> {
    /// Writes the method that returns the value of an attribute or its derived default, if it has one.
    pub(super) fn write_or_default(
        &self,
        out: &mut String,
        role: &Role<'_>,
        attribute: &Attribute,
        domain: &str,
    ) {
        if domain == "ai.onnx.ml" {
            return;
        }
        let Some(Absence::Derived(rule)) = absence_of(self.name, &attribute.name) else { return };
        let (argument, known, default) = describe(rule);
        let (ty, function) = match attribute.kind.as_str() {
            "INT" => ("i64", "or_derived_int"),
            _ => ("Cow<'m, [i64]>", "or_derived"),
        };
        let name = identifier(&role.name);
        let pads = match attribute.name.as_str() {
            "pads" => " `None` if `auto_pad` or `output_shape` determines the padding.",
            _ => "",
        };
        let _ = writeln!(
            out,
            "/// `{}`, or its default: {default}. `None` if the value is not known.{pads}\n#[must_use]\npub fn {}_or_default(&self{argument}) -> Option<{ty}> {{ {function}(&self.call(), {}, self.{name}(), {known}) }}\n",
            attribute.name,
            role.name,
            attr_constant(&attribute.name)
        );
    }
}

/// The argument of the method, what is known by it, and the default in words.
fn describe(rule: DerivedDefault) -> (String, String, String) {
    let rank = |default: &str| {
        (", rank: usize", "Known::Rank(rank)", format!("{default} for a first input of this rank"))
    };
    let nothing = |default: String| ("", "Known::Nothing", default);
    let (argument, known, default) = match rule {
        DerivedDefault::AxesReversed => rank("all axes in descending order"),
        DerivedDefault::Axes => rank("all axes"),
        DerivedDefault::Rank => {
            (", rank: usize", "Known::Rank(rank)", "the rank of the first input".to_owned())
        }
        DerivedDefault::SpatialOnes => rank("a one for each spatial axis"),
        DerivedDefault::SpatialZeros => rank("a zero for each spatial axis"),
        DerivedDefault::SpatialPads => rank("two zeros for each spatial axis"),
        DerivedDefault::Kernel(index) => {
            let known = format!("Known::Sizes({index}, weight)");
            return (
                ", weight: &[i64]".to_owned(),
                known,
                "the spatial sizes of a weight of these sizes".to_owned(),
            );
        }
        DerivedDefault::Int(value) => nothing(format!("{value}")),
        DerivedDefault::ScanInputs => nothing("a zero for each scanned input".to_owned()),
        DerivedDefault::ScanOutputs => nothing("a zero for each scanned output".to_owned()),
        DerivedDefault::Starts => nothing("the axes from 0 on, as many as `starts` has elements".to_owned()),
        DerivedDefault::Image { value, times } => (
            ", axes: usize",
            "Known::Length(axes)",
            format!("{times} times the number {value} for each of this number of axes of the image"),
        ),
        DerivedDefault::OutputCount => nothing("the number of outputs".to_owned()),
    };
    (argument.to_owned(), known.to_owned(), default)
}
