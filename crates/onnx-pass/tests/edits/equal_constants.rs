//! Constants of a claim with the same elements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use onnx_ir::{Constant, Position};
use onnx_ops::ops;
use onnx_pass::{Exactness, PassCx, PassOptions};
use onnx_types::ElemType;
use onnx_types::tensor::{DataError, DataSource, ExternalData, MemoryData, Tensor};

use crate::{maker, parse, value};

/// A source that counts how often it is read.
struct Counted {
    data: MemoryData,
    reads: AtomicUsize,
}

impl DataSource for Counted {
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.data.read(location, offset, length)
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        self.data.len(location)
    }
}

/// Each constant is compared only with those that are likely to be equal, so that the work is linear.
#[test]
fn equal_constants_are_one_input_and_are_found_without_comparing_all() {
    const COUNT: usize = 64;
    // The last constant has the elements of the first one.
    let number = |index: usize| (index % (COUNT - 1)) as f32;
    let all: Vec<u8> = (0..COUNT).flat_map(|index| number(index).to_le_bytes()).collect();
    let mut data = MemoryData::new();
    data.insert("weights.data", all);
    let source = Counted { data, reads: AtomicUsize::new(0) };
    let names: Vec<String> = (0..COUNT).map(|index| format!("c{index}")).collect();
    let declared: Vec<String> = names.iter().map(|name| format!("float[1] {name} = {{0}}")).collect();
    let mut model = parse(&format!(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g () => (float[N] y) <{}> {{ t = Concat <axis = 0> ({}) y = Neg (t) }}"#,
        declared.join(", "),
        names.join(", ")
    ));
    let graph = model.main_graph();
    for (index, name) in names.iter().enumerate() {
        let place = ExternalData::new("weights.data").with_offset(index as u64 * 4).with_length(4);
        let tensor = Tensor::external(ElemType::Float, [1], place).unwrap();
        let constant = value(&model, name);
        model.set_initializer(graph, constant, Some(Arc::new(Constant::Dense(tensor))));
    }
    let mut cx = PassCx::new(&mut model, PassOptions::default().with_data(&source));
    let mut patch = cx.patch("again", Exactness::Exact);
    let [t, y] = ["t", "y"].map(|name| value(patch.model(), name));
    let at = Position::Before(maker(patch.model(), "y"));
    let new = patch.build(at, |build| ops::neg(build, t).output()).unwrap();
    patch.replace(y, new);
    let claim = patch.equivalence().unwrap();
    assert_eq!(claim.inputs().len(), COUNT - 1);
    let reads = source.reads.load(Ordering::Relaxed);
    assert!(reads <= COUNT * 4, "{reads} reads of {COUNT} constants");
}
