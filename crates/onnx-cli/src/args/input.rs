//! Arguments of every command that reads or writes models.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use onnx_codec::ReadMode;
use onnx_diag::{Caps, Policy};
use onnx_ir::Model;
use onnx_schema::Registry;
use onnx_types::Execution;

use crate::exit::Failure;
use crate::format::Format;
use crate::limits::LimitArgs;
use crate::ops::bodies::LinkedBodies;
use crate::ops::documents;
use crate::rules;

/// The heading of options that many commands have.
pub(crate) const COMMON: &str = "Common options";

/// How to read models.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// The format of the input; without this, the extension decides, and otherwise the first bytes.
    #[arg(long, value_enum, value_name = "FORMAT", display_order = 90, help_heading = COMMON)]
    pub(crate) from: Option<Format>,
    /// Read files into memory instead of mapping them; for files that others may truncate meanwhile.
    #[arg(long, display_order = 91, help_heading = COMMON)]
    pub(crate) no_map: bool,
    /// The directory of the external data; without this, that of the model. A model from a stream has none.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, display_order = 91, help_heading = COMMON)]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bounds: LimitArgs,
    #[command(flatten)]
    pub(crate) severity: SeverityArgs,
}

/// Operators that documents define.
#[derive(Debug, Args)]
pub(crate) struct DocumentArgs {
    /// Load an operator set document (repeatable).
    ///
    /// Its signature file is loaded from the same directory if present.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ops: Vec<PathBuf>,
}

impl DocumentArgs {
    /// The operators of ONNX, onnxruntime and the documents.
    pub(crate) fn registry(&self, execution: &Execution) -> Result<Registry, Failure> {
        documents::registry_with_onnxruntime(&self.ops, execution)
    }

    /// The operators, for a model that is not written: the function bodies of the documents that it calls are added to it.
    pub(crate) fn registry_with_bodies(
        &self,
        model: &mut Model,
        execution: &Execution,
    ) -> Result<Registry, Failure> {
        self.link(model, execution)?;
        self.registry(execution)
    }

    /// Adds the function bodies of the documents that a model calls.
    pub(crate) fn link(&self, model: &mut Model, execution: &Execution) -> Result<LinkedBodies, Failure> {
        LinkedBodies::add(&self.ops, model, execution)
    }
}

/// Which diagnostics are reported, and as what.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SeverityArgs {
    /// Treat as errors: `warnings`, `notes` (and warnings), or a rule by code or name.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', display_order = 94, help_heading = COMMON)]
    pub(crate) deny: Vec<String>,
    /// Do not report a rule, given by code or name.
    #[arg(long, value_name = "RULE", value_delimiter = ',', display_order = 95, help_heading = COMMON)]
    pub(crate) allow: Vec<String>,
    /// Show at most N diagnostics per file (0: no limit); the summary counts all of them.
    #[arg(long, value_name = "N", display_order = 96, help_heading = COMMON)]
    pub(crate) max_findings: Option<usize>,
}

impl SeverityArgs {
    /// The severities of rules, on top of those of another policy.
    pub(crate) fn policy(&self, policy: Policy) -> Result<Policy, Failure> {
        rules::policy(policy, &self.deny, &self.allow)
    }

    /// How many diagnostics of a file are reported, if that is given.
    pub(crate) fn caps(&self) -> Option<Caps> {
        self.max_findings.map(|most| match most {
            0 => Caps::NONE,
            most => Caps { per_rule: most, total: most },
        })
    }

    /// Whether nothing is given.
    pub(crate) const fn is_default(&self) -> bool {
        self.deny.is_empty() && self.allow.is_empty() && self.max_findings.is_none()
    }
}

impl InputArgs {
    /// How to read files.
    pub(crate) const fn mode(&self) -> ReadMode {
        if self.no_map { ReadMode::Memory } else { ReadMode::Map }
    }

    /// How to read a file that will be written elsewhere as a whole.
    pub(crate) const fn mode_of_copy(&self) -> ReadMode {
        if self.no_map { ReadMode::Memory } else { ReadMode::MapAll }
    }
}
