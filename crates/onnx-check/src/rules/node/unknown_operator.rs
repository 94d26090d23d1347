//! The rule `unknown-operator`: a node calls an operator that its imported operator set does not have.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Callee;
use onnx_schema::{Schema, domain, domains_of, latest_opset};
use onnx_types::Symbol;

use crate::cx::NodeCx;
use crate::options::CustomOperators;
use crate::places::Places;

pub(crate) static RULE: Rule = Rule::new(
    2303,
    "unknown-operator",
    Severity::Error,
    "A node calls an operator that its imported operator set does not have.",
)
.with_spec("IR: Operators")
.with_reference(Reference::Partly)
.with_explain(include_str!("unknown_operator.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let (id, op, domain) = (cx.id, cx.node.op(), cx.node.domain());
    match cx.callee {
        Callee::Unknown { version } if latest_opset(domain).is_none() => undeclared(cx, version),
        Callee::Unknown { version } => cx.report(&RULE, |places| {
            let (message, help) = explain(places, domain, op, version);
            let found = Diagnostic::new(&RULE, places.node(id), message).help(help);
            let found = match latest_opset(domain) {
                Some(latest) if latest < version => found.note(format!(
                    "operators are known here up to version {latest}, and {version} is imported"
                )),
                _ => found,
            };
            // The reference does not insist on the operators of the preview domains.
            found.beyond_reference(!matches!(domain, domain::ONNX | domain::ML | domain::TRAINING))
        }),
        Callee::Undefined if cx.options.custom_operators == CustomOperators::Refuse => {
            cx.report(&RULE, |places| {
                let (op, domain) = (Quoted(places.str(op)), Quoted(places.str(domain)));
                Diagnostic::new(
                    &RULE,
                    places.node(id),
                    format!("operator {op} of domain {domain} is unknown"),
                )
                .help("add a function of this domain and name to the model, or accept custom operators")
            })
        }
        _ => {}
    }
}

/// An operator of a domain that the registry declares, which does not have it in the imported version.
fn undeclared(cx: &mut NodeCx<'_, '_>, version: i64) {
    let (id, options) = (cx.id, cx.options);
    let [domain, op] = [cx.node.domain(), cx.node.op()].map(|name| cx.model.str(name));
    cx.report(&RULE, |places| {
        let registry = &options.registry;
        let first = registry.declared_history(domain, op).next();
        let near = || onnx_schema::nearest(op, registry.declared_operators(domain));
        let (message, help) = match first {
            Some(first) => (
                format!("version {version} of {} has no {}", Quoted(domain), Quoted(op)),
                format!("it exists since version {}: import that or a newer one", first.since_version()),
            ),
            None => (
                format!("domain {} has no operator {}", Quoted(domain), Quoted(op)),
                near().map_or_else(
                    || {
                        "use an operator of this domain, or add a function of this name to the model"
                            .to_owned()
                    },
                    |near| format!("did you mean {}?", Quoted(near)),
                ),
            ),
        };
        // The reference knows nothing of the domain, and either refuses all of it or nothing.
        Diagnostic::new(&RULE, places.node(id), message)
            .help(help)
            .beyond_reference(options.custom_operators == CustomOperators::Accept)
    });
}

/// What to say about an operator that the imported version of a domain of ONNX does not have.
fn explain(places: &Places<'_>, domain: Symbol, op: Symbol, version: i64) -> (String, String) {
    let name = places.str(op);
    let has_no = match places.str(domain) {
        "" => format!("ONNX has no operator {}", Quoted(name)),
        domain => format!("domain {} has no operator {}", Quoted(domain), Quoted(name)),
    };
    if let Some(first) = onnx_schema::versions(domain, op).first() {
        let set = if domain.is_empty() {
            "the ONNX operators".to_owned()
        } else {
            format!("{}", Quoted(places.str(domain)))
        };
        let message = format!("version {version} of {set} has no {}", Quoted(name));
        return (
            message,
            format!("it exists since version {}: import that or a newer one", first.since_version()),
        );
    }
    if let Some(other) = domains_of(op).next() {
        let help = match places.str(other) {
            "" => "the default domain has it: leave the domain of the node empty".to_owned(),
            other => format!("domain {} has it: set the domain of the node", Quoted(other)),
        };
        return (has_no, help);
    }
    if onnx_schema::onnxruntime::lookup(places.str(domain), name, version).is_some() {
        let help = "onnxruntime adds it to this domain: use it for that runtime only, or add a function of this name to the model";
        return (has_no, help.to_owned());
    }
    (
        has_no,
        suggest(domain, name, version).unwrap_or_else(|| {
            "use an operator of this domain, or add a function of this name to the model".to_owned()
        }),
    )
}

/// Names the operator of the domain whose name is nearest, with the versions that have it.
fn suggest(domain: Symbol, name: &str, version: i64) -> Option<String> {
    let operators =
        || onnx_schema::operators().filter_map(<[Schema]>::first).filter(|first| first.domain() == domain);
    let near = onnx_schema::nearest(name, operators().map(Schema::name))?;
    let since = operators().find(|first| first.name() == near)?.since_version();
    let mut help = format!("did you mean {}, which exists since version {since}?", Quoted(near));
    if since > version {
        help.push_str(&format!(" Version {version} is imported"));
    }
    Some(help)
}
