//! Violations that the tracker finds, for tools and as text.

use std::fmt;
use std::ops::Range;

use super::rule::Rule;

/// Severity of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Contents are undefined, or the GPU's behaviour is.
    Error,
    /// The documents are ambiguous, or the use works but is probably unintended.
    Warning,
    /// The use works, but could be cheaper.
    Info,
}

/// A resource in a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Number of the resource in the order of creation on the device, from 1 on.
    pub number: u64,
    /// Debug name, if it has one.
    pub name: Option<String>,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "'{name}' (resource {})", self.number),
            None => write!(f, "resource {} (unnamed)", self.number),
        }
    }
}

/// The command that broke a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Index of the list in its `ExecuteCommandLists`, from 0 on; `None` for an access by the CPU.
    pub list: Option<u32>,
    /// Index of the call among those recorded to the list, from 0 on.
    pub call: u32,
    /// Name of the call, such as `ID3D12GraphicsCommandList::CopyResource`.
    pub name: &'static str,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.list {
            Some(list) => write!(f, "list {list}, call {} ({})", self.call, self.name),
            None => f.write_str(self.name),
        }
    }
}

/// A violation of a rule by a command. Its [`Display`](fmt::Display) output is the message in the info queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule that was broken.
    pub rule: Rule,
    /// Another rule that explains why contents are invalid or were not inherited.
    pub because: Option<Rule>,
    /// Severity of the violation.
    pub severity: Severity,
    /// The resource that was accessed.
    pub resource: Option<Subject>,
    /// The resource that it overlaps.
    pub other: Option<Subject>,
    /// The subresource, or the 64 KiB tile if the resource has tiles; `None` for the whole resource.
    pub unit: Option<u32>,
    /// Debug name of the heap, or its number.
    pub heap: Option<String>,
    /// The affected bytes of the heap.
    pub bytes: Range<u64>,
    /// The command that broke the rule.
    pub place: Place,
    /// Description of the violation.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.rule, self.place)?;
        if let Some(resource) = &self.resource {
            write!(f, "{resource}")?;
            if let Some(unit) = self.unit {
                write!(f, ", unit {unit}")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.what)?;
        if let Some(other) = &self.other {
            write!(f, "; other resource: {other}")?;
        }
        if let Some(heap) = &self.heap {
            write!(f, "; bytes {:#x} to {:#x} of {heap}", self.bytes.start, self.bytes.end)?;
        }
        write!(f, ": {}", self.rule.sentence())?;
        if let Some(because) = self.because {
            write!(f, " ({because}: {})", because.sentence())?;
        }
        Ok(())
    }
}
