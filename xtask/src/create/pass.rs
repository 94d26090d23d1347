//! The files of a pass: its module and its test.

use super::list::add_line;
use super::{Plan, words};
use crate::tidy::sources::Files;

/// Plans the files of a pass.
pub(super) fn plan(files: &Files, name: &str) -> Result<Plan, String> {
    let words = words(name, '-')?;
    let (slug, function) = (words.join("-"), words.join("_"));
    let mut plan = Plan::default();
    let pass = format!(
        "//! The pass `{slug}`, which edits nothing yet.\n\
         \n\
         use onnx_schema::op;\n\
         \n\
         use super::Report;\n\
         use crate::assumption::Exactness;\n\
         use crate::cx::PassCx;\n\
         use crate::pass::Pass;\n\
         \n\
         /// The name of the pass.\n\
         const NAME: &str = \"{slug}\";\n\
         \n\
         pub(super) fn pass() -> Pass {{\n\
         \u{20}   Pass::new(NAME, \"Leaves the model as it is.\", Exactness::Exact, {function})\n\
         \u{20}       .with_page(include_str!(\"{function}.md\"))\n\
         }}\n\
         \n\
         /// Leaves the model as it is: a candidate is every `Identity`, and each is reported as missed.\n\
         pub fn {function}(cx: &mut PassCx<'_>) -> Report {{\n\
         \u{20}   cx.rewrite(NAME, Exactness::Exact, op::IDENTITY, |_, _| Err(\"the pass is not written\".into()))\n\
         }}\n"
    );
    let page = format!(
        "# {slug}\n\n## What it changes\n\nNothing yet.\n\n## What it does not change\n\nEverything.\n"
    );
    let test = format!(
        "#! pass {slug}\n\
         \n\
         # What the pass edits.\n\
         <ir_version: 10, opset_import: [\"\": 20]>\n\
         g (float[N] x) => (float[N] y) {{\n\
         \u{20}   a = Identity (x)\n\
         \u{20}   y = Relu (a)\n\
         }}\n\
         #>\n"
    );
    plan.create(files, format!("crates/onnx-pass/src/passes/{function}.rs"), pass)?;
    plan.create(files, format!("crates/onnx-pass/src/passes/{function}.md"), page)?;
    plan.create(files, format!("crates/onnx-pass/tests/filetests/{function}.onnxtxt"), test)?;
    plan.change(files, "crates/onnx-pass/src/passes/mod.rs", |text| {
        let text = add_line(text, &["mod "], &format!("mod {function};"))?;
        let text = add_line(&text, &["pub use "], &format!("pub use {function}::{function};"))?;
        Ok(text.replacen("    vec![\n", &format!("    vec![\n        {function}::pass(),\n"), 1))
    })?;
    plan.next.push("write the pass; `docs/write-a-pass.md` shows how".to_owned());
    plan.next.push("list it where it belongs in `passes::all`".to_owned());
    plan.next.push("BLESS=1 cargo test -p onnx-pass --test filetests".to_owned());
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources::read_tree;

    #[test]
    fn files_are_created_where_the_files_of_passes_are() {
        let tree = read_tree().unwrap();
        let plan = plan(&tree, "fuse-two-nodes").unwrap();
        for (path, _) in &plan.created {
            let (folder, file) = path.rsplit_once('/').unwrap();
            let known = file.replace("fuse_two_nodes", "no_identities");
            assert!(tree.has(&format!("{folder}/{known}")), "{path}");
        }
        let changed = plan.changed[0].1.as_str();
        assert!(changed.contains("mod folded_constants;\nmod fuse_two_nodes;\n"), "{changed}");
        assert!(changed.contains("\npub use fuse_two_nodes::fuse_two_nodes;\n"), "{changed}");
        assert!(changed.contains("        fuse_two_nodes::pass(),\n"), "{changed}");
        assert_eq!((plan.created.len(), plan.changed.len()), (3, 1));
        assert!(super::plan(&tree, "no-identities").unwrap_err().contains("exists"));
    }
}
