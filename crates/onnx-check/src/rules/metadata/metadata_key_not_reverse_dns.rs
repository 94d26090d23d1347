//! The rule `metadata-key-not-reverse-dns`: keys of the metadata of the model do not say whose they are.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

use crate::declaration_cx::{Holder, MetadataCx};
use crate::identifier::is_reverse_dns;

pub(crate) static RULE: Rule = Rule::new(
    2022,
    "metadata-key-not-reverse-dns",
    Severity::Note,
    "A key of the metadata of the model does not say whose it is.",
)
.with_spec("IR: Optional Metadata")
.with_explain(include_str!("metadata_key_not_reverse_dns.md"));

/// Keys that the specification recommends.
const RECOMMENDED: &[&str] =
    &["author", "company", "converted_from", "license", "license_url", "model_author", "model_license"];

pub(crate) fn check(cx: &mut MetadataCx<'_, '_>) {
    if !cx.options.recommendations || !matches!(cx.holder, Holder::Model) {
        return;
    }
    let wrong = |key: &&str| !is_reverse_dns(key) && !RECOMMENDED.contains(key);
    let mut keys = cx.keys().filter(wrong);
    let Some(first) = keys.next() else { return };
    let more = keys.count();
    let holder = cx.holder;
    cx.report(&RULE, |places| {
        let message = match more {
            0 => format!("key {} does not begin with a domain", Quoted(first)),
            _ => format!(
                "{} keys do not begin with a domain, among them {}",
                more.saturating_add(1),
                Quoted(first)
            ),
        };
        Diagnostic::new(&RULE, holder.locate(places).metadata(first), message)
            .help("put a domain that is yours before the key, as in `com.example.key`")
    });
}
