//! What a context knows after patches, compared with inference of the edited model from scratch: it does not contradict that,
//! and is at least as fine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use onnx_ir::{Model, Owner, ValueId};
use onnx_pass::{Level, Pass, PassCx, PassOptions};
use onnx_shape_infer::{Elem, InferOptions, Inference, Ty, infer};
use onnx_smith::SmithOptions;
use onnx_types::expr::ExprTable;
use onnx_types::{Dim, ElemType, Shape, Symbol, Type, TypeKind};

/// What a context knows, and what inference from scratch finds.
struct Comparison<'a> {
    model: &'a Model,
    kept: &'a Inference,
    fresh: &'a Inference,
    /// The expressions of what is kept, and those of the other side with its symbols replaced.
    exprs: ExprTable,
    /// The new symbols of the other side that correspond to kept ones.
    named: HashMap<Symbol, Dim>,
}

impl<'a> Comparison<'a> {
    fn new(model: &'a Model, kept: &'a Inference, fresh: &'a Inference) -> Self {
        Self { model, kept, fresh, exprs: kept.exprs().clone(), named: HashMap::new() }
    }

    /// What does not hold, for all values.
    fn faults(&mut self) -> Vec<String> {
        let model = self.model;
        let mut faults = Vec::new();
        for graph in model.all_graphs() {
            let made =
                model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().flatten().copied());
            let values =
                model.graph(graph).inputs().iter().copied().chain(model.initializers(graph)).chain(made);
            // An update drops what is known about the bodies of functions.
            let is_function = matches!(model.graph(model.root(graph)).owner(), Owner::Function(_));
            for value in values {
                if let Err(fault) = self.value(value).and_then(|()| self.content(value))
                    && !(is_function && self.kept.ty(value).is_unknown())
                {
                    let name = model.str(model.value(value).name());
                    let (kept, fresh) = [self.kept, self.fresh]
                        .map(|found| found.display_type(model, value).to_string())
                        .into();
                    faults.push(format!("{value} {name}: {fault}; {kept} kept, {fresh} from scratch"));
                }
            }
        }
        faults
    }

    fn value(&mut self, value: ValueId) -> Result<(), String> {
        let (kept, fresh) = (self.kept.ty(value), self.fresh.ty(value));
        let (old, new) = match (&kept, &fresh) {
            (_, Ty::Unknown) => return Ok(()),
            (Ty::Unknown, _) => return Err("nothing is kept".to_owned()),
            (Ty::Other(one), Ty::Other(two)) => return self.ty(one, two),
            (Ty::Tensor(old, _), Ty::Tensor(new, _)) => (*old, *new),
            _ => return Err("another kind".to_owned()),
        };
        if old != new && new != ElemType::Undefined {
            return Err("another element type".to_owned());
        }
        self.dims(kept.dims(), fresh.dims())
    }

    /// The types of sequences, optionals and maps.
    fn ty(&mut self, old: &Type, new: &Type) -> Result<(), String> {
        match (&old.kind, &new.kind) {
            (TypeKind::Tensor(old), TypeKind::Tensor(new))
            | (TypeKind::SparseTensor(old), TypeKind::SparseTensor(new))
                if old.elem == new.elem =>
            {
                self.dims(old.shape.as_ref().map(Shape::dims), new.shape.as_ref().map(Shape::dims))
            }
            (_, TypeKind::Sequence(None) | TypeKind::Optional(None)) => Ok(()),
            (TypeKind::Sequence(Some(old)), TypeKind::Sequence(Some(new)))
            | (TypeKind::Optional(Some(old)), TypeKind::Optional(Some(new))) => self.ty(old, new),
            _ if old == new => Ok(()),
            _ => Err("another type".to_owned()),
        }
    }

    fn dims(&mut self, old: Option<&[Dim]>, new: Option<&[Dim]>) -> Result<(), String> {
        match (old, new) {
            (_, None) => Ok(()),
            (Some(old), Some(new)) if old.len() == new.len() => {
                let mut pairs = old.iter().zip(new).enumerate();
                pairs.try_for_each(|(axis, (&old, &new))| {
                    self.dim(old, new).map_err(|fault| format!("{fault} at axis {axis}"))
                })
            }
            _ => Err("another rank".to_owned()),
        }
    }

    fn content(&mut self, value: ValueId) -> Result<(), String> {
        let Some(fresh) = self.fresh.content(value) else { return Ok(()) };
        let is_known = fresh.iter().any(|&element| element != Elem::Unknown);
        let Some(kept) = self.kept.content(value) else {
            return if is_known { Err("elements are not kept".to_owned()) } else { Ok(()) };
        };
        if kept.len() != fresh.len() {
            return Err("another number of elements".to_owned());
        }
        let mut pairs = kept.iter().zip(fresh.iter());
        pairs.try_for_each(|(&old, &new)| match (old, new) {
            (_, Elem::Unknown) => Ok(()),
            (Elem::Int(old), Elem::Int(new)) => self.dim(old, new),
            (Elem::Dyadic(old, a), Elem::Dyadic(new, b)) if a == b => self.dim(old, new),
            (Elem::Quotient(old, a), Elem::Quotient(new, b)) if a == b => self.dim(old, new),
            (Elem::Float(old), Elem::Float(new)) if old.is_nan() && new.is_nan() => Ok(()),
            (old, new) if old == new => Ok(()),
            (old, new) => Err(format!("the element {old:?} is kept and {new:?} found")),
        })
    }

    /// Whether the size that is kept is the one that was found, where a new symbol is whatever is kept about its origin.
    fn dim(&mut self, old: Dim, new: Dim) -> Result<(), String> {
        if new == Dim::Unknown {
            return Ok(());
        }
        let (kept, fresh) = (self.kept, self.fresh);
        // New symbols of one origin correspond one for one. A declared type may have replaced the size at the origin, and the
        // size of what is in a sequence is none of an axis.
        if let (Dim::Var(one), Dim::Var(two)) = (old, new)
            && fresh.origin(two).is_some()
            && fresh.origin(two) == kept.origin(one)
            && *self.named.entry(two).or_insert(old) == old
        {
            return Ok(());
        }
        let named = &self.named;
        let origin = |symbol| match fresh.origin(symbol) {
            Some((value, axis)) => {
                let size = || kept.shape(value).and_then(|dims| dims.get(axis));
                named.get(&symbol).or_else(size).copied().unwrap_or(Dim::Unknown)
            }
            None => Dim::Var(symbol),
        };
        let imported = self.exprs.import(fresh.exprs(), new, &mut |symbol| symbol);
        let new = self.exprs.substitute(imported, &|symbol| Some(origin(symbol)));
        match kept.facts().eq(&self.exprs, old, new) {
            Some(true) => Ok(()),
            Some(false) => Err("another size".to_owned()),
            None if matches!(old, Dim::Known(_)) => Ok(()),
            None => Err(format!("a size that is not known to be the same ({old:?} {new:?})")),
        }
    }
}

/// Runs all passes on a model in the order of a number, with a comparison after each; returns the number of edits.
fn compare_after_passes(mut model: Model, order: u64, what: &str) -> usize {
    let mut passes = Pass::standard();
    let count = passes.len() as u64;
    passes.rotate_left(usize::try_from(order % count).unwrap_or_default());
    if (order / count) % 2 == 1 {
        passes.reverse();
    }
    let mut cx = PassCx::new(&mut model, PassOptions::default().with_level(Level::Types));
    let mut edits = 0;
    for pass in passes {
        let before = cx.journal().len();
        pass.run(&mut cx);
        if cx.journal().len() == before {
            continue;
        }
        edits += cx.journal().len() - before;
        let fresh = infer(cx.model(), &InferOptions::default());
        let faults = Comparison::new(cx.model(), cx.inference(), &fresh).faults();
        assert_eq!(faults, Vec::<String>::new(), "{what}, after {}", pass.name());
    }
    edits
}

#[test]
fn what_is_kept_is_as_fine_as_inference_from_scratch() {
    let mut edits = 0;
    for seed in 0..300 {
        let options = SmithOptions::default().with_nodes(8 + (seed % 3) as usize * 8);
        let model = onnx_smith::from_seed(seed, &options).model;
        edits += compare_after_passes(model, seed, &format!("seed {seed}"));
    }
    println!("{edits} edits");
    assert!(edits > 1_000, "{edits}");
}

/// The models of this package, and those of the folder in `ONNX_MODELS`: they compute shapes from shapes.
#[test]
fn what_is_kept_of_exported_models_is_as_fine() {
    let mut files: Vec<PathBuf> = Vec::new();
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    for folder in [Some(bundled), std::env::var_os("ONNX_MODELS").map(PathBuf::from)].into_iter().flatten() {
        files.extend(std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.sort();
    let transformer = onnx_tests::models::Transformer::with_nodes(300).build();
    let models = files.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "onnx"));
    let models = models.map(|path| (path.display().to_string(), std::fs::read(path).unwrap().into()));
    let (mut edits, mut count) = (0, 0);
    for (name, bytes) in models.chain([("a transformer".to_owned(), transformer)]) {
        // Some of the bundled files are damaged, and some are only a message.
        let Ok(decoded) = onnx_codec::decode(bytes, &onnx_codec::DecodeOptions::default()) else { continue };
        if decoded.model.verify_sorted().is_ok() {
            count += 1;
            edits += compare_after_passes(decoded.model, 0, &name);
        }
    }
    println!("{edits} edits of {count} models");
    assert!(edits > 100 && count > 20, "{edits} {count}");
}
