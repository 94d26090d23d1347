//! Finding out what nodes call.

use onnx_ir::{Model, NodeId};
use onnx_schema::Schema;
use onnx_types::Symbol;

use crate::cx::{Callee, Cx};
use crate::imports::Imports;

/// Operators that ONNX tried out before it had a process for that, and dropped. There never was a schema that readers kept,
/// yet they accept nodes of these names.
const LEGACY_OPERATORS: [&str; 11] = [
    "ATen",
    "Affine",
    "ConstantFill",
    "Crop",
    "DynamicSlice",
    "GRUUnit",
    "GivenTensorFill",
    "ImageScaler",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
];

/// What is looked up once for all nodes of a model.
pub(crate) struct Callees {
    /// The symbols that the dropped experimental operators have in this model.
    legacy: Vec<Symbol>,
    has_functions: bool,
}

impl Callees {
    pub(crate) fn new(model: &Model) -> Self {
        let legacy = LEGACY_OPERATORS.iter().filter_map(|name| model.names().get(name)).collect();
        Self { legacy, has_functions: !model.functions().is_empty() }
    }

    /// Finds out what a node calls.
    pub(crate) fn of<'a>(&self, cx: &Cx<'a>, id: NodeId, imports: &Imports) -> Callee<'a> {
        let model = cx.model;
        let node = model.node(id);
        let (domain, op) = (node.domain(), node.op());
        if op.is_empty() {
            return Callee::Unnamed;
        }
        if domain.is_empty() && self.legacy.contains(&op) {
            return Callee::Experimental;
        }
        let Some(version) = imports.version(domain) else { return Callee::NotImported };
        let standard = onnx_schema::lookup(domain, op, version);
        if cx.options.registry.has_declared() {
            return self.declared(cx, id, version, standard);
        }
        if let Some(schema) = standard {
            return Callee::Operator(schema);
        }
        // Only what is no operator of ONNX is looked up among the functions, which takes a hash.
        if let Some(function) = self.has_functions.then(|| model.callee(id)).flatten() {
            return Callee::Function(function);
        }
        if onnx_schema::opset_versions(domain).is_none() {
            Callee::Custom
        } else {
            Callee::Unknown { version }
        }
    }

    /// Finds out what a node calls where the registry declares operators.
    fn declared<'a>(
        &self,
        cx: &Cx<'a>,
        id: NodeId,
        version: i64,
        standard: Option<&'static Schema>,
    ) -> Callee<'a> {
        let model = cx.model;
        let registry = &cx.options.registry;
        let [domain, op] = [model.node(id).domain(), model.node(id).op()].map(|name| model.str(name));
        let declared = registry.declared(domain, op, version);
        if let Some(schema) = standard
            && declared.is_none_or(|declared| declared.since_version() <= schema.since_version())
        {
            return Callee::Operator(schema);
        }
        // The model says itself what its functions mean.
        if let Some(function) = self.has_functions.then(|| model.callee(id)).flatten() {
            return Callee::Function(function);
        }
        let is_known = || {
            onnx_schema::opset_versions(model.node(id).domain()).is_some()
                || registry.declared_versions(domain).is_some()
        };
        match declared {
            Some(schema) => Callee::Declared(schema),
            None if is_known() => Callee::Unknown { version },
            None => Callee::Custom,
        }
    }
}

#[cfg(test)]
mod tests {
    use onnx_schema::{AttrKind, DeclareError, OperatorSet, OpsetRegistry, declare};

    use crate::testing::{Builder, check_with};
    use crate::{CheckOptions, Profile};

    /// Version 3 of a domain `d`: `Frob` takes one or two inputs and the attributes `size` and `mode`, `Old` is withdrawn,
    /// and `New` came with version 3.
    fn registry() -> Result<OpsetRegistry, DeclareError> {
        let mut set = OperatorSet::new("d", 3);
        set.add(
            declare("Frob", 1)
                .input("x", "")
                .optional_input("y", "")
                .output("z", "")
                .required_attribute("size", AttrKind::Int)
                .attribute("mode", AttrKind::String),
        )?;
        set.add(declare("Old", 2).deprecated())?;
        set.add(declare("New", 3).output("z", ""))?;
        OpsetRegistry::standard().with(&set)
    }

    /// Checks a call of the domain `d`, imported at a version, and compares code and place of each finding.
    #[track_caller]
    fn check(version: i64, call: &str, attributes: &[(&str, i64)], expected: &[(&str, &str)]) {
        let build = |m: &mut Builder| {
            m.import("d", version);
            m.inputs(["a", "b"]);
            let attributes: Vec<_> =
                attributes.iter().map(|&(name, value)| m.attribute(name, value)).collect();
            m.node_with(call, attributes);
        };
        let options = |profile| CheckOptions {
            registry: registry().unwrap_or_default(),
            profile,
            ..CheckOptions::default()
        };
        check_with(&options(Profile::Spec), build, expected);
        // Of declared operators the reference knows nothing.
        check_with(&options(Profile::Reference), build, &[]);
    }

    #[test]
    fn calls_of_declared_operators_are_checked() {
        let node = r#"graph "g" / node #0 d::Frob"#;
        check(3, "z = d.Frob (a)", &[("size", 1)], &[]);
        check(3, "z = d.Frob (a, b)", &[("size", 1), ("__note", 2)], &[]);
        check(3, "z = d.Frob ()", &[("size", 1)], &[("ONNX2308", node)]);
        check(
            3,
            "z = d.Frob (, b)",
            &[("size", 1)],
            &[("ONNX2308", r#"graph "g" / node #0 d::Frob / input 0"#)],
        );
        check(3, "z, y = d.Frob (a)", &[("size", 1)], &[("ONNX2309", node)]);
        check(3, "z = d.Frob (a)", &[], &[("ONNX2310", node)]);
        check(
            3,
            "z = d.Frob (a)",
            &[("size", 1), ("sise", 1), ("mode", 1)],
            &[
                ("ONNX2401", r#"graph "g" / node #0 d::Frob / attribute "sise""#),
                ("ONNX2402", r#"graph "g" / node #0 d::Frob / attribute "mode""#),
            ],
        );
    }

    #[test]
    fn versions_of_declared_operators_count() {
        check(3, "d.Old (a)", &[], &[("ONNX2304", r#"graph "g" / node #0 d::Old"#)]);
        check(3, "z = d.New ()", &[], &[]);
        check(4, "z = d.New ()", &[], &[("ONNX2011", r#"opset import "d""#)]);
        check(
            2,
            "z = d.New ()",
            &[],
            &[("ONNX2011", r#"opset import "d""#), ("ONNX2303", r#"graph "g" / node #0 d::New"#)],
        );
        check(3, "z = d.Knew ()", &[], &[("ONNX2303", r#"graph "g" / node #0 d::Knew"#)]);
    }

    #[test]
    fn functions_of_the_model_come_first() {
        let build = |m: &mut Builder| {
            m.import("d", 3);
            m.inputs(["a"]);
            m.node("z = d.New (a)");
            m.function("d", "New", Some(""), |m| {
                m.inputs(["a"]);
                m.node("b = Relu (a)");
                m.outputs(["b"]);
            });
        };
        let options = CheckOptions { registry: registry().unwrap(), ..CheckOptions::default() };
        check_with(&options, build, &[]);
    }
}
