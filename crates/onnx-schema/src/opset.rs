//! Operator sets, releases and IR versions.

use std::ops::RangeInclusive;

use onnx_types::Symbol;

use crate::generated::opsets::{DOMAINS, RELEASES};
use crate::lookup::normalize_domain;

/// The ONNX version that the facts are taken from.
pub const ONNX_VERSION: &str = "1.23.2";

/// The newest IR version: the version of the file format.
pub const LATEST_IR_VERSION: i64 = RELEASES[RELEASES.len() - 1].ir_version as i64;

/// The newest version of the ONNX operator set.
pub const LATEST_OPSET: i64 = DOMAINS[0].newest as i64;

/// The versions of a domain's operator set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DomainVersions {
    pub(crate) domain: Symbol,
    pub(crate) oldest: u16,
    pub(crate) newest: u16,
}

/// A release of ONNX: the IR version and the newest operator set versions it came with.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    pub(crate) name: &'static str,
    pub(crate) ir_version: u16,
    pub(crate) opsets: &'static [(Symbol, u16)],
}

impl Release {
    /// The version of the release, such as `1.16.0`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The newest IR version of the release.
    #[must_use]
    pub const fn ir_version(&self) -> i64 {
        self.ir_version as i64
    }

    /// The domains of the release with the newest version of each one's operator set.
    pub fn opsets(&self) -> impl ExactSizeIterator<Item = (Symbol, i64)> {
        self.opsets.iter().map(|&(domain, version)| (domain, i64::from(version)))
    }

    /// The newest operator set version of a domain in the release.
    #[must_use]
    pub fn opset(&self, domain: Symbol) -> Option<i64> {
        let domain = normalize_domain(domain);
        self.opsets().find(|&(known, _)| known == domain).map(|(_, version)| version)
    }
}

/// The releases, oldest first.
#[must_use]
pub const fn releases() -> &'static [Release] {
    &RELEASES
}

/// The canonical names of the domains that ONNX defines.
pub fn domains() -> impl ExactSizeIterator<Item = Symbol> {
    DOMAINS.iter().map(|row| row.domain)
}

/// The operator set versions of a domain; `None` for a domain that ONNX does not define.
///
/// ```
/// use onnx_schema::{domain, opset_versions};
///
/// assert_eq!(opset_versions(domain::AI_ONNX), Some(1..=28));
/// assert_eq!(opset_versions(domain::MICROSOFT), None);
/// ```
#[must_use]
pub fn opset_versions(domain: Symbol) -> Option<RangeInclusive<i64>> {
    let domain = normalize_domain(domain);
    let row = DOMAINS.iter().find(|row| row.domain == domain)?;
    Some(i64::from(row.oldest)..=i64::from(row.newest))
}

/// The newest operator set version of a domain; `None` for a domain that ONNX does not define.
#[must_use]
pub fn latest_opset(domain: Symbol) -> Option<i64> {
    opset_versions(domain).map(|versions| *versions.end())
}

/// The oldest IR version that came with the given operator set version: that of the first release that has it. `None` for
/// a version or a domain that no release has.
///
/// ```
/// use onnx_schema::{domain, ir_version_for};
///
/// assert_eq!(ir_version_for(domain::ONNX, 21), Some(10));
/// assert_eq!(ir_version_for(domain::ONNX, 99), None);
/// ```
#[must_use]
pub fn ir_version_for(domain: Symbol, opset_version: i64) -> Option<i64> {
    if !opset_versions(domain)?.contains(&opset_version) {
        return None;
    }
    let has_it = |release: &&Release| release.opset(domain).is_some_and(|newest| newest >= opset_version);
    RELEASES.iter().find(has_it).map(Release::ir_version)
}

/// The newest operator set version of a domain that a reader of the given IR version knows for certain: that of the first
/// release with that IR version. `None` where no such release has the domain.
#[must_use]
pub fn opset_for_ir_version(domain: Symbol, ir_version: i64) -> Option<i64> {
    RELEASES.iter().find(|release| release.ir_version() == ir_version)?.opset(domain)
}
