//! What is inferred for operators of onnxruntime holds for what it computed and inferred, as recorded.

use onnx_tests::conformance::suites::contrib::{compare, recorded};

#[test]
fn recorded_runs_of_onnxruntime_agree_with_what_is_inferred() {
    let (mut runs, mut exact, mut open, mut wrong) = (0, 0, 0, Vec::new());
    recorded(&mut |name, model, truth| {
        let found = compare(&model, &truth);
        if std::env::var_os("SHOW_OPEN").is_some() && found.open > 0 {
            println!("{name}: {} open, {} exact", found.open, found.exact);
        }
        runs += found.runs;
        exact += found.exact;
        open += found.open;
        wrong.extend(found.wrong.into_iter().take(1).map(|what| format!("{name}: {what}")));
        Ok(())
    })
    .unwrap();
    println!("{runs} runs, {exact} outputs exact, {open} open");
    assert_eq!(wrong, Vec::<String>::new());
    assert!(runs > 4000, "only {runs} runs are recorded");
}
