//! A `Gather` along rows by indices that the model computes from their number: it is free if each row takes its own elements.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use onnx_compose::{ComposeError, EditOptions, NewSize, SizeChange, SizeTarget, resize};
use onnx_text::{ParseOptions, parse_model};

/// Frees the first axis of `x`, whose rows have 4 elements each.
fn freed(indices: &str) -> Result<Vec<String>, String> {
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[1,4,3] x) => (float[a,b,c] y)
         <int64 zero = {{0}}, int64 one = {{1}}, int64 four = {{4}}, int64[1,1] three = {{3}}, int64[4] columns = {{0, 1, 2, 3}}, int64[2] flat = {{-1, 3}}, int64[1] first = {{0}}, int64[1] second = {{1}}> {{
            r = Reshape (x, flat) s = Shape <end = 1> (x) n = Squeeze (s) rows = Range (zero, n, one) u = Unsqueeze (rows, second)
            {indices}
            y = Gather (r, i)
         }}"
    );
    let mut model = parse_model(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let x = model.find_value(model.main_graph(), "x").unwrap();
    let change = SizeChange { target: SizeTarget::Axis(x, 0), size: NewSize::Name("n0".to_owned()) };
    match resize(&mut model, &[change], &EditOptions::default()) {
        Ok(done) => {
            assert!(done.dependent_rows.is_empty() && done.not_run.is_empty(), "{indices}: {done:?}");
            Ok(done.freed.into_iter().map(|(name, _)| name).collect())
        }
        Err(ComposeError::FixedSizes(fixed)) => {
            Err(fixed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
        Err(error) => panic!("{indices}: {error}"),
    }
}

#[test]
fn rows_that_take_their_own_elements_are_freed() {
    for indices in [
        "m = Mul (u, four) i = Add (m, columns)",
        "m = Mul (four, u) c = Unsqueeze (columns, first) i = Add (c, m)",
        // In the reverse order within each row.
        "m = Mul (u, four) d = Sub (m, columns) i = Add (d, three)",
        // The same element of each row, twice.
        "m = Mul (u, four) t = Concat <axis = 0> (s, second) e = Expand (m, t) i = Add (e, three)",
        "f = Cast <to = 6> (u) k = Cast <to = 6> (four) m = Mul (f, k) l = Cast <to = 6> (columns) i = Add (m, l)",
        "c = Range (zero, four, one) m = Mul (rows, four) v = Unsqueeze (m, second) i = Add (v, c)",
    ] {
        assert_eq!(freed(indices), Ok(vec!["n0".to_owned()]), "{indices}");
    }
}

#[test]
fn rows_that_take_elements_of_others_are_refused() {
    for indices in [
        // Each row begins in the one before it.
        "m = Mul (u, three) i = Add (m, columns)",
        // The last element is the first one of the next row.
        "m = Mul (u, four) c = Add (columns, one) i = Add (m, c)",
        "m = Mul (u, four) d = Sub (m, columns) i = Identity (d)",
        // All rows take the first one.
        "z = Mul (u, zero) i = Add (z, columns)",
        // The order of the rows is reversed.
        "o = Sub (n, one) v = Sub (o, u) m = Mul (v, four) i = Add (m, columns)",
    ] {
        let message = freed(indices).err().unwrap_or_default();
        assert!(message.contains("Gather `y` combines the elements"), "{indices}: {message}");
    }
}
