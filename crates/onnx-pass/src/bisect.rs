//! The first patch of a pipeline after which a model has a property, such as that another program fails on it.

use onnx_ir::Model;

use crate::cx::{Entry, PassOptions};
use crate::pipeline::Pipeline;

/// The result of a trial of a model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trial {
    /// The model does not have the property.
    Good,
    /// The model has the property.
    Bad,
    /// The model cannot be tried.
    Undecided,
}

/// The first patch after which a model is bad.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FirstBad {
    /// The number of the last patch after which the model is good; 0 is the model before the pipeline.
    pub good: usize,
    /// The number of the first patch after which the model is known to be bad, from 1. It is `good + 1` unless the models
    /// between them could not be tried.
    pub bad: usize,
    /// The patches after `good`, up to `bad`: one of them is the cause.
    pub suspects: Vec<Entry>,
}

/// The result of [`bisect`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Bisection {
    /// The patch was found.
    Found(FirstBad),
    /// The model is good after all patches; their number.
    Good(usize),
    /// The model is bad before the first patch.
    BadBefore,
    /// The model before the first patch, or the one after the last, cannot be tried.
    Undecided,
}

/// Finds the first patch of a pipeline after which a model is bad. `trial` judges a model; it gets the number of patches, too.
/// The patches have the same numbers in each run, because a pipeline depends on nothing but the model and the options.
///
/// ```
/// use onnx_ir::Model;
/// use onnx_pass::{Bisection, PassOptions, Pipeline, Trial, bisect};
/// use onnx_schema::Registry;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) {
///    a = Identity (x)
///    b = Identity (a)
///    c = Exp (b)
///    d = Exp (b)
///    y = Add (c, d)
/// }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let pipeline = Pipeline::named(&["no-identities", "unique-subexpressions"], Registry::STANDARD)?;
/// // Which patch leaves fewer than four nodes?
/// let trial = |model: &Model, _: usize| -> Result<Trial, std::convert::Infallible> {
///     Ok(if model.node_count() < 4 { Trial::Bad } else { Trial::Good })
/// };
/// let Bisection::Found(found) = bisect(&pipeline, &model, &PassOptions::default(), trial)? else { panic!() };
/// assert_eq!((found.good, found.bad), (1, 2));
/// assert_eq!(found.suspects[0].pass, "no-identities");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the first error of `trial`.
///
/// # Panics
///
/// See [`Pipeline::run`].
pub fn bisect<E>(
    pipeline: &Pipeline,
    model: &Model,
    options: &PassOptions<'_>,
    mut trial: impl FnMut(&Model, usize) -> Result<Trial, E>,
) -> Result<Bisection, E> {
    let mut after = |count: usize| {
        let mut copy = model.clone();
        let journal = match count {
            0 => Vec::new(),
            _ => pipeline.run(&mut copy, &options.clone().with_max_edits(count)).journal,
        };
        trial(&copy, journal.len()).map(|result| (result, journal))
    };
    match after(0)?.0 {
        Trial::Good => {}
        Trial::Bad => return Ok(Bisection::BadBefore),
        Trial::Undecided => return Ok(Bisection::Undecided),
    }
    let (result, journal) = after(usize::MAX)?;
    match result {
        Trial::Good => return Ok(Bisection::Good(journal.len())),
        Trial::Bad if journal.is_empty() => return Ok(Bisection::BadBefore),
        Trial::Bad => {}
        Trial::Undecided => return Ok(Bisection::Undecided),
    }
    let (mut good, mut bad) = (0, journal.len());
    while bad.saturating_sub(good) > 1 {
        let middle = good.midpoint(bad);
        // From the middle to both ends, until a model can be tried.
        let later = middle..bad;
        let earlier = (good.saturating_add(1)..middle).rev();
        let mut decided = None;
        for count in later.chain(earlier) {
            let result = after(count)?.0;
            if result != Trial::Undecided {
                decided = Some((count, result));
                break;
            }
        }
        match decided {
            Some((count, Trial::Good)) => good = count,
            Some((count, _)) => bad = count,
            None => break,
        }
    }
    let suspects = journal.get(good..bad).unwrap_or_default().to_vec();
    Ok(Bisection::Found(FirstBad { good, bad, suspects }))
}
