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
         \n\
         /// Leaves the model as it is: a candidate is every `Identity`, and each is reported as missed.\n\
         pub fn {function}(cx: &mut PassCx<'_>) -> Report {{\n\
         \u{20}   cx.rewrite(\"{slug}\", Exactness::Exact, op::IDENTITY, |_, _| Err(\"the pass is not written\".into()))\n\
         }}\n"
    );
    let test = format!(
        "//! The pass `{slug}`.\n\
         \n\
         use onnx_pass::passes::{function};\n\
         \n\
         use crate::check;\n\
         \n\
         #[test]\n\
         fn candidates_are_edited() {{\n\
         \u{20}   check(\n\
         \u{20}       r#\"<ir_version: 10, opset_import: [\"\": 20]>\n\
         \u{20}       g (float[N] x) => (float[N] y) {{\n\
         \u{20}           a = Identity (x)\n\
         \u{20}           y = Relu (a)\n\
         \u{20}       }}\"#,\n\
         \u{20}       {function},\n\
         \u{20}       &[\"y = Relu (x)\"],\n\
         \u{20}       &[\"tested in # runs (# attempts)\"],\n\
         \u{20}   );\n\
         }}\n"
    );
    plan.create(files, format!("crates/onnx-pass/src/passes/{function}.rs"), pass)?;
    plan.create(files, format!("crates/onnx-pass/tests/edits/{function}.rs"), test)?;
    plan.change(files, "crates/onnx-pass/src/passes/mod.rs", |text| {
        let text = add_line(text, &["mod "], &format!("mod {function};"))?;
        add_line(&text, &["pub use "], &format!("pub use {function}::{function};"))
    })?;
    plan.change(files, "crates/onnx-pass/tests/edits/main.rs", |text| {
        add_line(text, &["mod "], &format!("mod {function};"))
    })?;
    plan.next.push("write the pass; `docs/write-a-pass.md` shows how".to_owned());
    plan.next.push("cargo test -p onnx-pass --test edits".to_owned());
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
            let folder = path.strip_suffix("/fuse_two_nodes.rs").unwrap();
            assert!(tree.has(&format!("{folder}/conditional.rs")), "{path}");
        }
        let changed = |index: usize| plan.changed[index].1.as_str();
        assert!(changed(0).contains("mod conditional;\nmod fuse_two_nodes;\n"), "{}", changed(0));
        assert!(changed(0).contains("\npub use fuse_two_nodes::fuse_two_nodes;\n"), "{}", changed(0));
        assert!(changed(1).contains("mod figures;\nmod fuse_two_nodes;\n"), "{}", changed(1));
        assert_eq!((plan.created.len(), plan.changed.len()), (2, 2));
        assert!(super::plan(&tree, "conditional").unwrap_err().contains("exists"));
    }
}
