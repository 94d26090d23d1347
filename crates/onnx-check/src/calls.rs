//! Which functions of a model call which.

use onnx_ir::{FunctionId, Model};
use slotmap::SecondaryMap;

/// How many functions of a cycle are named.
const NAMED: usize = 8;

/// What there is to say about the calls between the functions of a model, nodes of nested graphs included.
///
/// Functions are visited once each, with a stack of their own, so long chains take heap and no stack.
#[derive(Default)]
pub(crate) struct Calls {
    /// For functions that call themselves, the way back: the function and the next ones on the way.
    cycles: SecondaryMap<FunctionId, Cycle>,
    /// Where the longest chain of calls starts, and how many functions it has; cycles are not followed.
    pub(crate) longest: Option<(FunctionId, usize)>,
}

/// A way from a function to itself.
pub(crate) struct Cycle {
    /// The function and those that follow it, as far as they are named.
    pub(crate) functions: Vec<FunctionId>,
    /// How many functions there are on the way.
    pub(crate) length: usize,
}

enum State {
    /// On the path that is being followed, at this position.
    Open(usize),
    /// Left for good; the longest chain from here has this many functions.
    Done(usize),
}

struct Frame {
    function: FunctionId,
    callees: std::vec::IntoIter<FunctionId>,
    /// How many functions the longest chain from a callee has, as far as it is known.
    height: usize,
}

impl Calls {
    /// Follows all calls between functions.
    pub(crate) fn of(model: &Model) -> Self {
        let mut calls = Self::default();
        let mut states: SecondaryMap<FunctionId, State> = SecondaryMap::new();
        for &root in model.functions() {
            if !states.contains_key(root) {
                calls.follow(model, root, &mut states);
            }
        }
        calls
    }

    /// The way from a function back to itself, if one was found.
    pub(crate) fn cycle(&self, function: FunctionId) -> Option<&Cycle> {
        self.cycles.get(function)
    }

    fn follow(&mut self, model: &Model, root: FunctionId, states: &mut SecondaryMap<FunctionId, State>) {
        let mut path = vec![Frame::new(model, root)];
        states.insert(root, State::Open(0));
        while let Some(frame) = path.last_mut() {
            let Some(callee) = frame.callees.next() else {
                let (function, height) = (frame.function, frame.height.saturating_add(1));
                states.insert(function, State::Done(height));
                if self.longest.is_none_or(|(_, longest)| height > longest) {
                    self.longest = Some((function, height));
                }
                path.pop();
                if let Some(caller) = path.last_mut() {
                    caller.height = caller.height.max(height);
                }
                continue;
            };
            match states.get(callee) {
                None => {
                    states.insert(callee, State::Open(path.len()));
                    path.push(Frame::new(model, callee));
                }
                Some(&State::Open(start)) => self.found(callee, path.get(start..).unwrap_or_default()),
                Some(&State::Done(height)) => frame.height = frame.height.max(height),
            }
        }
    }

    /// Takes note of a cycle, unless one is known that begins with the same function.
    fn found(&mut self, start: FunctionId, path: &[Frame]) {
        if !self.cycles.contains_key(start) {
            let functions = path.iter().take(NAMED).map(|frame| frame.function).collect();
            self.cycles.insert(start, Cycle { functions, length: path.len() });
        }
    }
}

impl Frame {
    fn new(model: &Model, function: FunctionId) -> Self {
        let nodes = model.nodes_in(model.function(function).body());
        let mut callees: Vec<FunctionId> = nodes.filter_map(|node| model.callee(node)).collect();
        callees.sort_unstable();
        callees.dedup();
        Self { function, callees: callees.into_iter(), height: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Builder;

    /// Makes functions `f0`, `f1`, ... that call those with the given numbers, and compares where cycles start, how long
    /// they are, and the length of the longest chain.
    fn check(functions: &[&[usize]], cycles: &[(usize, usize)], longest: usize) {
        let mut m = Builder::new();
        for (number, callees) in functions.iter().enumerate() {
            m.function("d", &format!("f{number}"), Some(""), |m| {
                for callee in *callees {
                    m.node(&format!(" = d.f{callee} ()"));
                }
            });
        }
        let calls = Calls::of(&m.model);
        let found: Vec<_> = (m.model.functions().iter().enumerate())
            .filter_map(|(number, &function)| Some((number, calls.cycle(function)?.length)))
            .collect();
        assert_eq!(found, cycles);
        assert_eq!(calls.longest.map_or(0, |(_, length)| length), longest);
    }

    #[test]
    fn calls_are_followed() {
        check(&[], &[], 0);
        check(&[&[1, 2], &[2], &[]], &[], 3);
        check(&[&[0]], &[(0, 1)], 1);
        check(&[&[], &[2], &[3], &[1, 0]], &[(1, 3)], 4);
        check(&[&[1], &[0], &[2, 0]], &[(0, 2), (2, 1)], 3);
    }
}
