//! The rule `named-value-missing`: an attribute of `Gradient` names a value that is not there.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{AttrValue, Def, naming_attributes};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2424,
    "named-value-missing",
    Severity::Error,
    "An attribute of `Gradient` names a value that is not there.",
)
.with_spec("Operators")
.with_explain(include_str!("named_value_missing.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let naming = naming_attributes(cx.node.domain(), cx.node.op());
    if naming.is_empty() || cx.is_alone() {
        return;
    }
    let (model, id, graph) = (cx.model, cx.id, cx.node.graph());
    for attribute in cx.node.attributes().iter().filter(|attribute| naming.contains(&attribute.name())) {
        let missing: Vec<(usize, String)> = match attribute.value() {
            AttrValue::Value(_) | AttrValue::Values(_) => {
                let values = attribute.value().values().iter().enumerate();
                let missing = values
                    .filter(|&(_, &value)| matches!(model.value(value).def(), Def::Unresolved(_)))
                    .map(|(index, &value)| (index, model.str(model.value(value).name()).to_owned()));
                missing.collect()
            }
            // What can be a name of a value is one.
            AttrValue::String(text) => vec![(0, String::from_utf8_lossy(text).into_owned())],
            AttrValue::Strings(texts) => {
                let texts = texts.iter().map(|text| String::from_utf8_lossy(text).into_owned());
                texts.enumerate().filter(|(_, text)| model.find_value(graph, text).is_none()).collect()
            }
            _ => continue,
        };
        let is_list = matches!(attribute.value(), AttrValue::Values(_) | AttrValue::Strings(_));
        for (index, text) in missing {
            let name = attribute.name();
            cx.report(&RULE, |places| {
                let place = places.attribute(id, name);
                let place = if is_list { place.element(index) } else { place };
                let near = model.names().get(&text).and_then(|name| places.nearest_value(graph, name));
                let (name, text) = (Quoted(places.str(name)), Quoted(&text).to_string());
                let help = match near {
                    Some(near) => format!("did you mean {}?", Quoted(near)),
                    None => "name a value of the graph of the node, or of a graph around it".to_owned(),
                };
                let message = format!("attribute {name} names {text}, which nothing defines");
                // The reference does not read the attributes.
                Diagnostic::new(&RULE, place, message).help(help).beyond_reference(true)
            });
        }
    }
}
