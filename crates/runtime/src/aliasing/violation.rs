//! What the tracker finds, in a form for tools and in words.

use std::fmt;
use std::ops::Range;

use super::rule::Rule;

/// How bad a violation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Contents are undefined, or the GPU may do anything.
    Error,
    /// The documents are not clear, or it works and is probably not meant.
    Warning,
    /// It works, and could be cheaper.
    Info,
}

/// A resource in a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Numbers the resource since the device was created, from 1 on.
    pub number: u64,
    /// Its debug name, if it has one.
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
    /// Which list of its `ExecuteCommandLists`, from 0 on; `None` for an access by the CPU.
    pub list: Option<u32>,
    /// Which of the calls that were recorded to it, from 0 on.
    pub call: u32,
    /// The call: `ID3D12GraphicsCommandList::CopyResource`.
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

/// A rule that a command broke. Its [`Display`](fmt::Display) is the message of the info queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Why it came to that, where another rule says it: why contents are invalid, or were not inherited.
    pub because: Option<Rule>,
    /// How bad it is.
    pub severity: Severity,
    /// The resource that was accessed.
    pub resource: Option<Subject>,
    /// The resource that it overlaps.
    pub other: Option<Subject>,
    /// The subresource, or the tile of 64 KiB where it has tiles; `None` where it is about the whole resource.
    pub unit: Option<u32>,
    /// The debug name of the heap, or its number.
    pub heap: Option<String>,
    /// The bytes of the heap that it is about.
    pub bytes: Range<u64>,
    /// The command.
    pub place: Place,
    /// What happened, in words.
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
            write!(f, "; the other is {other}")?;
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
