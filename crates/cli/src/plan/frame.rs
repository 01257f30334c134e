//! Frames: passes on queues and their resources, with the names and lines that a file gives them.

use std::fmt;

use heapwright_aliasing::Violated;
use heapwright_aliasing::frame::{
    BarrierModel, Frame, FrameError, FramePlan, FrameResource, FrameResourceId, Initialisation, NotAliased,
    PassId, QueueId, RestingState, Use,
};
use serde_json::{Value, json};

use crate::exit::Failed;

/// The largest number of passes, and of resources: the planner compares each two of them.
pub(super) const MAX_COUNT: usize = 10_000;

/// A frame with the names of its parts.
#[derive(Debug)]
pub(super) struct NamedFrame {
    /// Path of the file, for messages.
    pub(super) file: String,
    pub(super) frame: Frame,
    pub(super) queues: Vec<String>,
    pub(super) passes: Vec<NamedPass>,
    pub(super) resources: Vec<NamedResource>,
}

#[derive(Debug)]
pub(super) struct NamedPass {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) may_be_skipped: bool,
    pub(super) uses: Vec<NamedUse>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct NamedUse {
    pub(super) resource: usize,
    pub(super) how: Use,
    pub(super) line: usize,
}

#[derive(Debug)]
pub(super) struct NamedResource {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) desc: FrameResource,
}

impl NamedFrame {
    /// Declares the uses of all passes.
    pub(super) fn declare_uses(&mut self) -> Result<(), Failed> {
        for (number, pass) in self.passes.iter().enumerate() {
            for used in &pass.uses {
                let resource = FrameResourceId(used.resource);
                let declared = self.frame.add_use(PassId(number), resource, used.how);
                declared.map_err(|error| self.malformed(error))?;
            }
        }
        Ok(())
    }

    pub(super) fn wrong(&self, line: usize, reason: impl fmt::Display) -> Failed {
        super::wrong(&self.file, line, reason)
    }

    fn pass(&self, pass: PassId) -> &NamedPass {
        &self.passes[pass.0]
    }

    pub(super) fn resource(&self, resource: FrameResourceId) -> &NamedResource {
        &self.resources[resource.0]
    }

    /// Returns the line in which a pass uses a resource.
    fn line_of_use(&self, pass: PassId, resource: FrameResourceId) -> usize {
        let pass = self.pass(pass);
        let used = pass.uses.iter().find(|used| used.resource == resource.0);
        used.map_or(pass.line, |used| used.line)
    }

    /// Returns the error with its line.
    pub(super) fn malformed(&self, error: FrameError) -> Failed {
        match error {
            FrameError::NotPermitted { pass, resource, how } => self.wrong(
                self.line_of_use(pass, resource),
                format!(
                    "pass {:?} cannot use resource {:?} for {how:?}: the resource's kind or the kind of the pass's queue \
                     does not permit it",
                    self.pass(pass).name,
                    self.resource(resource).name
                ),
            ),
            FrameError::Unused(resource) => {
                let resource = self.resource(resource);
                self.wrong(resource.line, format!("no pass uses resource {:?}", resource.name))
            }
            FrameError::Resource { resource: Some(resource), rule } => {
                let resource = self.resource(resource);
                let reason = match rule {
                    Violated::FixedOverlap { other } => format!(
                        "at its offset, resource {:?} has bytes of one block of {:?} (line {}), which is used at the same \
                         time; blocks have the larger granularity of the two",
                        resource.name, self.resources[other].name, self.resources[other].line
                    ),
                    rule => format!("resource {:?}: {rule}", resource.name),
                };
                self.wrong(resource.line, reason)
            }
            error => Failed::bad_input(error).of(&self.file),
        }
    }

    /// Returns an error if the contents of a resource would be undefined.
    pub(super) fn expect_defined(&self, plan: &FramePlan) -> Result<(), Failed> {
        let mistake = plan.not_aliased.iter().find(|(_, reason)| reason.is_mistake());
        mistake.map_or(Ok(()), |&(resource, reason)| {
            let pass = match reason {
                NotAliased::ReadBeforeWrite { pass } => pass,
                NotAliased::UnorderedFirstUses { other, .. } => other,
                _ => return Ok(()),
            };
            Err(self.wrong(self.line_of_use(pass, resource), self.not_aliased(resource, reason)))
        })
    }

    /// Returns why a resource shares no memory.
    pub(super) fn not_aliased(&self, resource: FrameResourceId, reason: NotAliased) -> String {
        let resource = &self.resource(resource).name;
        let name = |pass: PassId| &self.pass(pass).name;
        match reason {
            NotAliased::Retained => format!("the contents of {resource:?} are needed in other frames"),
            NotAliased::ReadBeforeWrite { pass } => format!(
                "pass {:?} reads {resource:?}, and no pass before it writes it: its contents are undefined, unless the \
                 retention \"history\" or \"persistent\" keeps them",
                name(pass)
            ),
            NotAliased::UnorderedFirstUses { pass, other } => format!(
                "passes {:?} and {:?} use {resource:?}, and no dependency says which is the first",
                name(pass),
                name(other)
            ),
            NotAliased::FirstUseMayBeSkipped { pass } => {
                format!("pass {:?}, which initialises {resource:?}, may be skipped", name(pass))
            }
            NotAliased::CannotInitialise { pass } => {
                format!("the queue of pass {:?} cannot initialise {resource:?}", name(pass))
            }
            other => format!("{resource:?}: {other:?}"),
        }
    }

    /// Returns the plan for the key `frame` of the JSON.
    pub(super) fn to_json(&self, plan: &FramePlan) -> Value {
        let resource = |resource: FrameResourceId| &self.resource(resource).name;
        let pass = |pass: PassId| &self.pass(pass).name;
        let queue = |queue: QueueId| &self.queues[queue.0];
        let resources = (self.resources.iter().zip(&plan.placements)).map(|(resource, placement)| {
            json!({ "name": resource.name, "heap": placement.heap, "offset": placement.offset.get() })
        });
        let activations = plan.activations.iter().map(|activation| {
            let predecessors = activation.predecessors.iter().map(|predecessor| {
                json!({
                    "resource": resource(predecessor.resource),
                    "start": predecessor.range.start().get(),
                    "end": predecessor.range.end().get(),
                    "previous_frame": predecessor.previous_frame,
                })
            });
            let after: Vec<_> = activation.after.iter().map(|&id| resource(id)).collect();
            let discards = activation.discards;
            let (legacy, enhanced) = match plan.barriers {
                BarrierModel::Legacy => (after, None),
                BarrierModel::Enhanced => {
                    (Vec::new(), Some(json!({ "deactivate": after, "discard": discards })))
                }
            };
            json!({
                "resource": resource(activation.resource),
                "pass": pass(activation.pass),
                "queue": queue(activation.queue),
                "predecessors": predecessors.collect::<Vec<_>>(),
                "legacy_barriers_from": legacy,
                "enhanced": enhanced,
                "initialisation": initialisation(activation.initialisation),
                "resting_state": resting_state(activation.resting_state),
            })
        });
        let not_aliased = (plan.not_aliased.iter())
            .map(|&(id, reason)| json!({ "resource": resource(id), "reason": self.not_aliased(id, reason) }));
        let submissions = plan.submissions.iter().map(|submission| {
            let passes: Vec<_> = submission.passes.iter().map(|&id| pass(id)).collect();
            let queues: Vec<_> = submission.after_previous_frame.iter().map(|&id| queue(id)).collect();
            json!({
                "queue": queue(submission.queue),
                "passes": passes,
                "after": submission.after,
                "after_previous_frame": queues,
            })
        });
        json!({
            "resources": resources.collect::<Vec<_>>(),
            "activations": activations.collect::<Vec<_>>(),
            "not_aliased": not_aliased.collect::<Vec<_>>(),
            "submissions": submissions.collect::<Vec<_>>(),
        })
    }
}

fn initialisation(owed: Initialisation) -> &'static str {
    match owed {
        Initialisation::None => "none",
        Initialisation::Discard => "discard",
        Initialisation::Clear => "clear",
        Initialisation::Copy => "copy",
    }
}

fn resting_state(state: RestingState) -> &'static str {
    match state {
        RestingState::RenderTarget => "render_target",
        RestingState::DepthWrite => "depth_write",
        RestingState::UnorderedAccess => "unordered_access",
        RestingState::CopyDest => "copy_dest",
        RestingState::Any => "any",
    }
}

/// The lines about a frame in the text of a plan.
#[derive(Debug)]
pub(super) struct FrameText<'a>(pub(super) &'a NamedFrame, pub(super) &'a FramePlan);

impl fmt::Display for FrameText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(frame, plan) = self;
        write!(
            f,
            "\n  {:<9} {} in {} to {}",
            "passes",
            frame.passes.len(),
            crate::format::count_of(plan.submissions.len() as u64, "submission"),
            crate::format::count_of(frame.queues.len() as u64, "queue"),
        )?;
        for &(resource, reason) in &plan.not_aliased {
            let reason = frame.not_aliased(resource, reason);
            write!(f, "\n  {:<9} {}", "unshared", heapwright_report::Visible(&reason))?;
        }
        Ok(())
    }
}
