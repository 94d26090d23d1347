//! Collection of diagnostics: [`Sink`], with its [`Policy`], its [`Caps`] and its exact [`Counts`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::locus::Locus;
use crate::rule::{Rule, RuleId, Severity};

/// Proof that a diagnostic was reported: only a [`Sink`] creates one.
///
/// A function that returns `Err(Reported)` has no result and has reported the reason, so its caller must not report it
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reported(());

/// Number of diagnostics of each severity, including those that were not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of errors.
    pub errors: u64,
    /// The number of warnings.
    pub warnings: u64,
    /// The number of notes.
    pub notes: u64,
}

impl Counts {
    /// All diagnostics together.
    pub const fn total(self) -> u64 {
        self.errors.saturating_add(self.warnings).saturating_add(self.notes)
    }

    fn add(&mut self, severity: Severity, n: u64) {
        let slot = match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Note => &mut self.notes,
        };
        *slot = slot.saturating_add(n);
    }
}

/// Maximum numbers of diagnostics that a sink keeps. Further ones are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Maximum number of diagnostics for one rule.
    pub per_rule: usize,
    /// Maximum number of diagnostics in total.
    pub total: usize,
}

impl Caps {
    /// 100 diagnostics for one rule, 1000 in total: enough for readers, and little memory for any model.
    pub const DEFAULT: Self = Self { per_rule: 100, total: 1000 };

    /// Keeps everything. On hostile input this uses memory in proportion to the number of defects.
    pub const NONE: Self = Self { per_rule: usize::MAX, total: usize::MAX };
}

/// Severity overrides, for individual rules or for all rules.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: BTreeMap<RuleId, Option<Severity>>,
    deny_from: Option<Severity>,
    at_most: Option<Severity>,
    counted: BTreeSet<RuleId>,
}

impl Policy {
    /// Every rule keeps its own severity.
    pub const fn new() -> Self {
        Self { rules: BTreeMap::new(), deny_from: None, at_most: None, counted: BTreeSet::new() }
    }

    /// Does not report the rule at all.
    #[must_use]
    pub fn allow(mut self, rule: &Rule) -> Self {
        self.rules.insert(rule.id(), None);
        self
    }

    /// Makes every diagnostic of the rule an error.
    #[must_use]
    pub fn deny(self, rule: &Rule) -> Self {
        self.set(rule, Severity::Error)
    }

    /// Sets the severity of the rule.
    #[must_use]
    pub fn set(mut self, rule: &Rule, severity: Severity) -> Self {
        self.rules.insert(rule.id(), Some(severity));
        self
    }

    /// Makes every diagnostic that is at least this severe an error; overrides of single rules take precedence.
    #[must_use]
    pub fn deny_from(mut self, severity: Severity) -> Self {
        self.deny_from = Some(severity);
        self
    }

    /// Lowers severities to at most this one.
    #[must_use]
    pub fn at_most(mut self, severity: Severity) -> Self {
        self.at_most = Some(severity);
        self
    }

    /// Counts the diagnostics of a rule without keeping them, unless they are errors under this policy: for rules that
    /// nearly every model violates.
    #[must_use]
    pub fn count(mut self, rule: &Rule) -> Self {
        self.counted.insert(rule.id());
        self
    }

    /// Returns `true` if diagnostics of the rule are counted and not kept.
    #[must_use]
    pub fn is_counted(&self, rule: &Rule) -> bool {
        self.counted.contains(&rule.id()) && self.severity(rule) < Some(Severity::Error)
    }

    /// The severity of the rule under this policy; `None` when it is not to be reported.
    pub fn severity(&self, rule: &Rule) -> Option<Severity> {
        let severity = match self.rules.get(&rule.id()) {
            Some(&chosen) => chosen?,
            None if self.deny_from.is_some_and(|from| rule.severity >= from) => Severity::Error,
            None => rule.severity,
        };
        Some(self.at_most.map_or(severity, |most| severity.min(most)))
    }
}

/// Number of reports of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCount {
    /// The rule.
    pub rule: &'static Rule,
    /// The number of its diagnostics.
    pub found: u64,
    /// The number of those that were kept.
    pub kept: u64,
    /// The number of those that were not kept because the policy [counts](Policy::count) the rule.
    pub hidden: u64,
}

impl RuleCount {
    /// The number of diagnostics that were not kept because of the caps.
    pub const fn dropped(&self) -> u64 {
        self.found.saturating_sub(self.kept).saturating_sub(self.hidden)
    }
}

/// Collects diagnostics in the order in which they are reported, within [`Caps`], under a [`Policy`].
#[derive(Clone, Debug)]
pub struct Sink {
    diagnostics: Vec<Diagnostic>,
    rules: BTreeMap<RuleId, RuleCount>,
    counts: Counts,
    caps: Caps,
    policy: Policy,
    /// The first limit that was exceeded, with the rule of the diagnostic.
    exceeded: Option<(&'static Rule, &'static str)>,
}

impl Default for Sink {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> IntoIterator for &'a Sink {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Sink {
    /// An empty sink with the default caps and no policy.
    pub const fn new() -> Self {
        Self::with(Policy::new(), Caps::DEFAULT)
    }

    /// An empty sink with a policy and caps.
    pub const fn with(policy: Policy, caps: Caps) -> Self {
        Self {
            diagnostics: Vec::new(),
            rules: BTreeMap::new(),
            counts: Counts { errors: 0, warnings: 0, notes: 0 },
            caps,
            policy,
            exceeded: None,
        }
    }

    /// Reports a diagnostic.
    pub fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if let Some(limit) = diagnostic.limit {
            self.exceed(diagnostic.rule, limit);
        }
        self.report_with(diagnostic.rule, || diagnostic)
    }

    /// Reports a diagnostic of `rule` that is built only if it is kept. Use it in loops over a large model.
    pub fn report_with(&mut self, rule: &'static Rule, build: impl FnOnce() -> Diagnostic) -> Reported {
        if let Some(severity) = self.count(rule) {
            self.keep(rule, severity, build());
        }
        Reported(())
    }

    /// Records that a limit is the reason for a diagnostic of a rule, which need not be kept: see [`exceeded`](Self::exceeded).
    pub fn exceed(&mut self, rule: &'static Rule, limit: &'static str) {
        if self.policy.severity(rule) == Some(Severity::Error) {
            self.exceeded.get_or_insert((rule, limit));
        }
    }

    /// The first limit that is the reason for an error, kept or not: what exceeds it was not examined.
    pub fn exceeded(&self) -> Option<&'static str> {
        self.exceeded.map(|(_, limit)| limit)
    }

    /// Counts one diagnostic, and returns its severity if it must be kept. Each caller of [`Self::report_with`] would have a
    /// copy of it.
    #[inline(never)]
    fn count(&mut self, rule: &'static Rule) -> Option<Severity> {
        let severity = self.policy.severity(rule)?;
        self.counts.add(severity, 1);
        let room = self.diagnostics.len() < self.caps.total;
        let is_counted = self.policy.is_counted(rule);
        let entry = self.rules.entry(rule.id()).or_insert(RuleCount { rule, found: 0, kept: 0, hidden: 0 });
        entry.found = entry.found.saturating_add(1);
        if is_counted {
            entry.hidden = entry.hidden.saturating_add(1);
            return None;
        }
        let keep = room && usize::try_from(entry.kept).is_ok_and(|kept| kept < self.caps.per_rule);
        entry.kept = entry.kept.saturating_add(u64::from(keep));
        keep.then_some(severity)
    }

    /// Keeps a diagnostic that is counted, with the severity that the policy gives it.
    #[inline(never)]
    fn keep(&mut self, rule: &'static Rule, severity: Severity, mut diagnostic: Diagnostic) {
        debug_assert_eq!(diagnostic.rule, rule, "a finding is counted for the rule that it names");
        diagnostic.severity = severity;
        self.diagnostics.push(diagnostic);
    }

    /// Adds everything another sink found, after what this one has. The policy of this sink decides.
    pub fn merge(&mut self, other: Self) {
        let mut dropped: Vec<(&'static Rule, u64)> =
            other.rules.values().map(|count| (count.rule, count.found.saturating_sub(count.kept))).collect();
        if let Some((rule, limit)) = other.exceeded {
            self.exceed(rule, limit);
        }
        for diagnostic in other.diagnostics {
            self.report(diagnostic);
        }
        dropped.retain(|&(_, n)| n > 0);
        for (rule, n) in dropped {
            let Some(severity) = self.policy.severity(rule) else { continue };
            self.counts.add(severity, n);
            let hidden = if self.policy.is_counted(rule) { n } else { 0 };
            let entry =
                self.rules.entry(rule.id()).or_insert(RuleCount { rule, found: 0, kept: 0, hidden: 0 });
            entry.found = entry.found.saturating_add(n);
            entry.hidden = entry.hidden.saturating_add(hidden);
        }
    }

    /// Orders what was kept by position in the file. Findings without a position come first; ties keep their order.
    pub fn sort_by_position(&mut self) {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.locus.position());
    }

    /// The first diagnostic with its position, and the number of further errors: one line for a returned error.
    pub fn summary(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            if let Some(first) = self.diagnostics.first() {
                if let Some(position) = first.locus.position() {
                    write!(f, "{position}: ")?;
                }
                f.write_str(&first.message)?;
            }
            match self.counts.errors {
                0 | 1 => Ok(()),
                errors => write!(f, " (and {} more)", errors.saturating_sub(1)),
            }
        })
    }

    /// The diagnostics that were kept.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Iterates over the diagnostics that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.diagnostics.iter()
    }

    /// Number of diagnostics that were kept; [`counts`](Self::counts) has those that were not, too.
    pub const fn len(&self) -> usize {
        self.diagnostics.len()
    }

    /// The diagnostics that were kept, owned.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    /// The exact number of diagnostics of each severity, kept or not.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether any diagnostic is an error.
    pub const fn has_errors(&self) -> bool {
        self.counts.errors > 0
    }

    /// Whether nothing was found.
    pub const fn is_empty(&self) -> bool {
        self.counts.total() == 0
    }

    /// Number of reports of each rule, in the order of the codes.
    pub fn rule_counts(&self) -> impl Iterator<Item = RuleCount> + '_ {
        self.rules.values().copied()
    }

    /// The number of diagnostics that were not kept because of the caps.
    pub fn dropped(&self) -> u64 {
        self.rules.values().map(RuleCount::dropped).fold(0, u64::saturating_add)
    }

    /// The number of diagnostics that were not kept because the policy [counts](Policy::count) their rules.
    pub fn hidden(&self) -> u64 {
        self.rules.values().map(|count| count.hidden).fold(0, u64::saturating_add)
    }

    /// Sets the selectors of all places.
    pub fn set_selectors(&mut self, selector: impl Fn(&Locus) -> Option<String>) {
        let set = |locus: &mut Locus| {
            let found = selector(locus);
            *locus = std::mem::take(locus).with_selector(found);
        };
        for found in &mut self.diagnostics {
            set(&mut found.locus);
            found.labels.iter_mut().for_each(|label| set(&mut label.locus));
        }
    }

    /// Adds a note to each diagnostic for whose locus there is one.
    pub fn add_notes(&mut self, note: impl Fn(&Locus) -> Option<String>) {
        for found in &mut self.diagnostics {
            if let Some(text) = note(&found.locus) {
                *found = std::mem::replace(found, Diagnostic::new(found.rule, Locus::model(), "")).note(text);
            }
        }
    }

    /// Drops the diagnostics beyond caps. The counts remain.
    pub fn limit(&mut self, caps: Caps) {
        let mut kept: BTreeMap<RuleId, u64> = BTreeMap::new();
        let mut total = 0_usize;
        self.diagnostics.retain(|found| {
            let of_rule = kept.entry(found.rule.id()).or_default();
            let is_kept =
                total < caps.total && usize::try_from(*of_rule).is_ok_and(|count| count < caps.per_rule);
            if is_kept {
                *of_rule = of_rule.saturating_add(1);
                total = total.saturating_add(1);
            }
            is_kept
        });
        for (id, count) in &mut self.rules {
            count.kept = kept.get(id).copied().unwrap_or(0);
        }
        self.caps = caps;
    }

    /// Drops everything but errors, from the counts as well.
    pub fn retain_errors(&mut self) {
        self.diagnostics.retain(|found| found.severity == Severity::Error);
        let policy = &self.policy;
        self.rules.retain(|_, count| policy.severity(count.rule) == Some(Severity::Error));
        (self.counts.warnings, self.counts.notes) = (0, 0);
    }

    /// Drops the diagnostics that were kept. The counts remain.
    pub fn discard(&mut self) {
        self.diagnostics = Vec::new();
    }

    /// The policy that diagnostics are reported under.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locus::Locus;
    use crate::rule::Reference;

    const fn rule(code: u16, slug: &'static str, severity: Severity) -> Rule {
        Rule::new(code, slug, severity, "").with_reference(Reference::Partly)
    }

    static BAD: Rule = rule(9001, "bad", Severity::Error);
    static ODD: Rule = rule(9002, "odd", Severity::Warning);
    static FYI: Rule = rule(9003, "fyi", Severity::Note);

    fn found(rule: &'static Rule, offset: u64) -> Diagnostic {
        Diagnostic::new(rule, Locus::model().at_byte(offset), "m")
    }

    /// Reports one diagnostic of each rule and returns the resulting severities.
    fn check(policy: Policy, want: [Option<Severity>; 3]) {
        let mut sink = Sink::with(policy, Caps::DEFAULT);
        for rule in [&BAD, &ODD, &FYI] {
            sink.report(found(rule, 0));
        }
        let got = [&BAD, &ODD, &FYI]
            .map(|rule| sink.diagnostics().iter().find(|d| d.rule == rule).map(|d| d.severity));
        assert_eq!(got, want);
        let kept = u64::try_from(sink.diagnostics().len()).unwrap();
        assert_eq!(sink.counts().total(), kept);
    }

    #[test]
    fn policies_change_severities() {
        use Severity::{Error, Note, Warning};
        check(Policy::new(), [Some(Error), Some(Warning), Some(Note)]);
        check(Policy::new().allow(&BAD), [None, Some(Warning), Some(Note)]);
        check(Policy::new().deny(&FYI), [Some(Error), Some(Warning), Some(Error)]);
        check(Policy::new().deny_from(Warning), [Some(Error), Some(Error), Some(Note)]);
        check(Policy::new().deny_from(Note).allow(&ODD), [Some(Error), None, Some(Error)]);
        check(Policy::new().deny_from(Note).set(&FYI, Warning), [Some(Error), Some(Error), Some(Warning)]);
    }

    #[test]
    fn what_is_over_the_cap_is_not_built() {
        let mut sink = Sink::with(Policy::new(), Caps { per_rule: 2, total: 3 });
        let mut built = 0;
        for offset in 0..10 {
            for rule in [&BAD, &ODD] {
                sink.report_with(rule, || {
                    built += 1;
                    found(rule, offset)
                });
            }
        }
        assert_eq!(built, 3);
        assert_eq!(sink.counts(), Counts { errors: 10, warnings: 10, notes: 0 });
        let dropped: Vec<_> = sink.rule_counts().map(|count| (count.rule.slug, count.dropped())).collect();
        assert_eq!(dropped, [("bad", 8), ("odd", 9)]);
        assert_eq!(sink.dropped(), 17);
    }

    #[test]
    fn merging_keeps_order_and_counts() {
        let caps = Caps { per_rule: 3, total: 10 };
        let (mut first, mut second) = (Sink::with(Policy::new(), caps), Sink::with(Policy::new(), caps));
        for offset in 0..2 {
            first.report(found(&BAD, offset));
        }
        for offset in 2..9 {
            second.report(found(&BAD, offset));
            second.report(found(&FYI, offset));
        }
        first.merge(second);
        assert_eq!(first.counts(), Counts { errors: 9, warnings: 0, notes: 7 });
        let codes: Vec<_> = first.diagnostics().iter().map(|d| d.rule.slug).collect();
        assert_eq!(codes, ["bad", "bad", "bad", "fyi", "fyi", "fyi"]);
        assert_eq!(first.dropped(), 10);
        let mut strict = Sink::with(Policy::new().allow(&BAD), caps);
        strict.merge(first);
        assert_eq!(strict.counts(), Counts { errors: 0, warnings: 0, notes: 7 });
    }

    #[test]
    fn errors_are_what_is_left() {
        let mut sink = Sink::with(Policy::new(), Caps { per_rule: 1, total: 10 });
        for rule in [&BAD, &ODD, &FYI, &BAD] {
            sink.report(found(rule, 0));
        }
        sink.retain_errors();
        assert_eq!(sink.counts(), Counts { errors: 2, warnings: 0, notes: 0 });
        assert_eq!((sink.len(), sink.dropped()), (1, 1));
    }

    #[test]
    fn a_limit_is_known_without_its_diagnostic() {
        let none = Caps { per_rule: 0, total: 0 };
        let mut sink = Sink::with(Policy::new(), none);
        sink.report(found(&BAD, 0));
        assert_eq!(sink.exceeded(), None);
        sink.report(found(&ODD, 0).because_of_limit(Some("nodes")));
        assert_eq!(sink.exceeded(), None, "a warning");
        sink.report(found(&BAD, 0).because_of_limit(Some("values")));
        sink.report(found(&BAD, 0).because_of_limit(Some("graphs")));
        assert_eq!((sink.len(), sink.exceeded()), (0, Some("values")));
        let mut merged = Sink::new();
        merged.merge(sink.clone());
        assert_eq!(merged.exceeded(), Some("values"));
        let mut lenient = Sink::with(Policy::new().at_most(Severity::Warning), Caps::DEFAULT);
        lenient.merge(sink);
        assert_eq!(lenient.exceeded(), None);
    }

    #[test]
    fn sorting_is_stable() {
        let mut sink = Sink::new();
        for (rule, offset) in [(&BAD, 9), (&ODD, 3), (&FYI, 3)] {
            sink.report(found(rule, offset));
        }
        sink.report(Diagnostic::new(&BAD, Locus::model(), "no position"));
        sink.sort_by_position();
        let order: Vec<_> =
            sink.diagnostics().iter().map(|d| (d.rule.slug, d.locus.position().is_some())).collect();
        assert_eq!(order, [("bad", false), ("odd", true), ("fyi", true), ("bad", true)]);
    }

    #[test]
    fn a_partly_enforced_rule_says_which_part() {
        assert!(!found(&BAD, 0).beyond_reference);
        assert!(found(&BAD, 0).beyond_reference(true).beyond_reference);
    }
}
