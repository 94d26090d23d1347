//! `ZipMap`: each row of scores as a map from labels to scores, in a sequence.

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_schema::{attr, domain, op};
use onnx_types::tensor::Tensor;

use super::{Labels, row, rows};
use crate::budget::RECORD_BYTES;
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};
use crate::value::{MapKey, Value};

pub(super) const KERNELS: OpKernels = eval(op::ZIP_MAP, &[since(1, zip)]).of(domain::ML);

fn zip(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let labels = Labels::read(cx, attr::CLASSLABELS_INT64S, attr::CLASSLABELS_STRINGS)?;
    let (count, columns) = rows(&x)?;
    if columns != labels.len() {
        return Err(Stop::failed(format_args!("there are {} labels for {columns} columns", labels.len())));
    }
    let keys: Vec<MapKey> = match labels {
        Labels::Ints(labels) => labels.into_iter().map(MapKey::Int).collect(),
        Labels::Texts(labels) => labels.into_iter().map(MapKey::Text).collect(),
    };
    let scores = cx.read::<f32>(&x)?;
    // Each score becomes a separate tensor in an entry of a map.
    cx.budget.allocate(x.count, size_of::<(MapKey, Value, Tensor)>() + RECORD_BYTES as usize)?;
    let mut maps = Vec::new();
    for index in 0..count {
        let mut map = BTreeMap::new();
        for (key, &score) in keys.iter().zip(row(&scores, index, columns)) {
            if map.insert(key.clone(), Value::from(Tensor::scalar(score))).is_some() {
                return Err(Stop::failed("a label occurs twice"));
            }
        }
        maps.push(Value::Map(Arc::new(map)));
    }
    cx.put_value(0, Value::Sequence(Arc::new(maps)))
}
