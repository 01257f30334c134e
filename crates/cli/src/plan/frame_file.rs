//! The file format of frames: JSON with queues, resources and passes.

use std::collections::BTreeMap;
use std::fmt::Display;

use heapwright_aliasing::frame::{
    Frame, FramePlan, FrameResource, PassId, QueueId, QueueKind, ResourceKind, Retention, Use,
};
use heapwright_core::{Alignment, ByteSize, HeapOffset};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::frame::{MAX_COUNT, NamedFrame, NamedPass, NamedResource, NamedUse};
use crate::exit::Failed;

/// The largest number of resources on several queues: the planner may need a section for each two of them.
const MAX_RESOURCES_ON_SEVERAL_QUEUES: usize = 1000;

/// Largest number of queues: each execution has a time for each of them.
const MAX_QUEUES: usize = 64;

/// Returns whether a file has a frame rather than a table.
pub(super) fn is_frame(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// The parts of the file. They are parsed one by one, so that errors have the line of the part.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    #[serde(borrow, default)]
    queues: Vec<&'a RawValue>,
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
    #[serde(borrow)]
    passes: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Queue {
    name: String,
    #[serde(with = "Kind")]
    kind: QueueKind,
}

#[derive(Deserialize)]
#[serde(remote = "QueueKind", rename_all = "snake_case")]
enum Kind {
    Direct,
    Compute,
    Copy,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    name: String,
    kind: Described,
    size: u64,
    alignment: Option<u64>,
    granularity: Option<u64>,
    #[serde(default, with = "Kept")]
    retention: Retention,
    offset: Option<u64>,
    hint: Option<u64>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Described {
    Buffer,
    Texture,
    UnorderedAccessTexture,
    RenderTarget,
    UnorderedAccessRenderTarget,
    DepthStencil,
}

#[derive(Deserialize)]
#[serde(remote = "Retention", rename_all = "snake_case")]
enum Kept {
    Transient,
    Persistent,
    History,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pass<'a> {
    name: String,
    queue: Option<String>,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    may_be_skipped: bool,
    #[serde(borrow, default)]
    uses: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Used {
    resource: String,
    #[serde(rename = "use", with = "How")]
    how: Use,
}

#[derive(Deserialize)]
#[serde(remote = "Use", rename_all = "snake_case")]
enum How {
    Read,
    Render,
    Clear,
    CopyAll,
    WriteUnordered,
    Update,
}

/// A file that is read.
struct File<'a> {
    name: &'a str,
    text: &'a str,
    /// Positions of the line feeds.
    feeds: Vec<usize>,
}

impl<'a> File<'a> {
    /// Returns the line on which a part begins.
    fn line_of(&self, part: &RawValue) -> usize {
        let position = part.get().as_ptr().addr() - self.text.as_ptr().addr();
        self.feeds.partition_point(|&feed| feed < position) + 1
    }

    fn wrong(&self, line: usize, reason: impl Display) -> Failed {
        super::wrong(self.name, line, reason)
    }

    /// Parses JSON that begins on a line. Errors name the path, after `base`.
    fn parse<T: Deserialize<'a>>(&self, line: usize, base: &str, text: &'a str) -> Result<T, Failed> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let parsed = serde_path_to_error::deserialize(&mut reader);
        let parsed = parsed.map_err(|error| (format!("{base}{}", error.path()), error.into_inner()));
        let ended =
            parsed.and_then(|parsed| reader.end().map(|()| parsed).map_err(|error| (String::new(), error)));
        ended.map_err(|(path, error)| {
            let message = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = message.strip_suffix(&place).unwrap_or(&message);
            let path = path.strip_suffix('.').unwrap_or(&path);
            let message = if path.is_empty() || !error.is_data() {
                message.to_owned()
            } else {
                format!("{path}: {message}")
            };
            self.wrong(line + error.line().max(1) - 1, message)
        })
    }

    /// Parses an element of the document's list `base`.
    fn part<T: Deserialize<'a>>(&self, base: &str, number: usize, part: &'a RawValue) -> Result<T, Failed> {
        self.parse(self.line_of(part), &format!("{base}[{number}]."), part.get())
    }
}

/// Reads a frame. Offsets are fixed.
pub(super) fn read(name: &str, text: &str) -> Result<NamedFrame, Failed> {
    let feeds = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
    let file = File { name, text, feeds };
    let document: Document<'_> = file.parse(1, "", text)?;
    let (queues, resources, passes) =
        (document.queues.len(), document.resources.len(), document.passes.len());
    let most = if queues > 1 { MAX_RESOURCES_ON_SEVERAL_QUEUES } else { MAX_COUNT };
    for (what, count, most) in
        [("queues", queues, MAX_QUEUES), ("resources", resources, most), ("passes", passes, MAX_COUNT)]
    {
        if count > most {
            let reason = format!("there are {count} {what}, and at most {most} can be planned");
            return Err(Failed::bad_input(reason).of(name));
        }
    }
    let mut frame = Frame::new();
    let mut queues = Names::new("queue");
    for (number, &part) in document.queues.iter().enumerate() {
        let queue: Queue = file.part("queues", number, part)?;
        queues.add(&file, file.line_of(part), queue.name)?;
        frame.add_queue(queue.kind);
    }
    if document.queues.is_empty() {
        queues.add(&file, 1, "direct".to_owned())?;
        frame.add_queue(QueueKind::Direct);
    }
    let mut resources = Names::new("resource");
    let mut named = Vec::new();
    for (number, &part) in document.resources.iter().enumerate() {
        let line = file.line_of(part);
        let resource: Resource = file.part("resources", number, part)?;
        resources.add(&file, line, resource.name.clone())?;
        let desc = described(&resource).map_err(|reason| file.wrong(line, reason))?;
        frame.add_resource(desc);
        named.push(NamedResource { name: resource.name, line, desc });
    }
    let mut names = Names::new("pass");
    let mut passes = Vec::new();
    for (number, &part) in document.passes.iter().enumerate() {
        let line = file.line_of(part);
        let pass: Pass<'_> = file.part("passes", number, part)?;
        let queue = match &pass.queue {
            Some(queue) => queues.find(&file, line, queue)?,
            None if queues.names.len() == 1 => 0,
            None => return Err(file.wrong(line, format!("pass {:?} has no queue", pass.name))),
        };
        let id = frame.add_pass(QueueId(queue));
        for before in &pass.after {
            let before = names.find(&file, line, before).map_err(|_| {
                file.wrong(
                    line,
                    format!("after names {before:?}, and no pass in front of this one has this name"),
                )
            })?;
            frame.add_dependency(PassId(before), id).map_err(|error| file.wrong(line, error))?;
        }
        names.add(&file, line, pass.name.clone())?;
        if pass.may_be_skipped {
            frame.set_may_be_skipped(id).map_err(|error| file.wrong(line, error))?;
        }
        let list = format!("passes[{number}].uses");
        let uses = pass.uses.iter().enumerate().map(|(number, &part)| {
            let line = file.line_of(part);
            let Used { resource, how } = file.part(&list, number, part)?;
            Ok(NamedUse { resource: resources.find(&file, line, &resource)?, how, line })
        });
        let uses = uses.collect::<Result<_, Failed>>()?;
        passes.push(NamedPass { name: pass.name, line, may_be_skipped: pass.may_be_skipped, uses });
    }
    let mut frame =
        NamedFrame { file: name.to_owned(), frame, queues: queues.names, passes, resources: named };
    frame.declare_uses()?;
    Ok(frame)
}

fn described(resource: &Resource) -> Result<FrameResource, String> {
    /// `D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT`.
    const DEFAULT: u64 = 64 << 10;
    let power = |name: &str, value: u64| {
        Alignment::new(value).ok_or_else(|| format!("{name} must be a power of two, and is {value}"))
    };
    let kind = match resource.kind {
        Described::Buffer => ResourceKind::Buffer,
        Described::Texture => ResourceKind::Texture,
        Described::UnorderedAccessTexture => ResourceKind::UnorderedAccessTexture,
        Described::RenderTarget => ResourceKind::RenderTarget { unordered_access: false },
        Described::UnorderedAccessRenderTarget => ResourceKind::RenderTarget { unordered_access: true },
        Described::DepthStencil => ResourceKind::DepthStencil,
    };
    let alignment = resource.alignment.unwrap_or(DEFAULT);
    // A buffer that is aligned to less still owns whole blocks of 64 KiB.
    let least = if kind == ResourceKind::Buffer { DEFAULT } else { 1 };
    let granularity = resource.granularity.unwrap_or(alignment.max(least));
    let (alignment, granularity) = (power("alignment", alignment)?, power("granularity", granularity)?);
    Ok(FrameResource {
        granularity,
        retention: resource.retention,
        fixed_offset: resource.offset.map(HeapOffset::new),
        hint: resource.hint.map(HeapOffset::new),
        ..FrameResource::new(kind, ByteSize::new(resource.size), alignment)
    })
}

/// Names of one kind, each with its number.
struct Names {
    what: &'static str,
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Names {
    fn new(what: &'static str) -> Self {
        Self { what, names: Vec::new(), numbers: BTreeMap::new() }
    }

    fn add(&mut self, file: &File<'_>, line: usize, name: String) -> Result<(), Failed> {
        if self.numbers.insert(name.clone(), self.names.len()).is_some() {
            return Err(file.wrong(line, format!("there is another {} with the name {name:?}", self.what)));
        }
        self.names.push(name);
        Ok(())
    }

    fn find(&self, file: &File<'_>, line: usize, name: &str) -> Result<usize, Failed> {
        let number = self.numbers.get(name).copied();
        number.ok_or_else(|| file.wrong(line, format!("there is no {} with the name {name:?}", self.what)))
    }
}

/// Returns the file with the offsets of a plan.
pub(super) fn with_offsets(text: &str, plan: &FramePlan) -> serde_json::Result<String> {
    let mut document: Value = serde_json::from_str(text)?;
    let resources = document.get_mut("resources").and_then(Value::as_array_mut);
    for (resource, placement) in resources.into_iter().flatten().zip(&plan.placements) {
        resource["offset"] = placement.offset.get().into();
    }
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
