//! Replays a plan of a frame on the rules of the aliasing tracker.
//!
//! From the offsets of a plan, the planner derives the barriers and initialisations of each pass, and the tracker
//! judges the commands of several frames.

use heapwright::d3d12::{
    D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_DEPTH_WRITE, D3D12_RESOURCE_STATE_RENDER_TARGET,
    D3D12_RESOURCE_STATES,
};
use heapwright_aliasing::frame::{FramePlan, Initialisation, ResourceKind, Submission, Use};
use heapwright_runtime::aliasing::{
    AliasingTracking, CommandStream, Severity, StreamCommand, StreamError, StreamHeap, StreamQueue,
    StreamResource, StreamResourceKind, StreamSignal, Violation,
};

use super::frame::NamedFrame;

/// Frames that are replayed, and whether each leaves out the passes that may be skipped. The second frame finds the
/// memory as the first one left it.
const FRAMES: [bool; 3] = [false, true, false];

/// Returns the first violation of the rules by a plan of the frame, or `None` if there is none.
pub(super) fn violation(frame: &NamedFrame, plan: &FramePlan) -> Result<Option<Violation>, StreamError> {
    let mut replay = Replay::new(frame, plan)?;
    for skips in FRAMES {
        let violations = replay.run(skips, None)?;
        let worst = violations.into_iter().find(|violation| violation.severity <= Severity::Warning);
        if worst.is_some() {
            return Ok(worst);
        }
    }
    Ok(None)
}

/// Queues and resources of a frame, without a device.
struct Replay<'a> {
    frame: &'a NamedFrame,
    plan: &'a FramePlan,
    stream: CommandStream,
    queues: Vec<StreamQueue>,
    resources: Vec<StreamResource>,
    /// The last signal of each queue.
    last_signals: Vec<StreamSignal>,
}

impl<'a> Replay<'a> {
    fn new(frame: &'a NamedFrame, plan: &'a FramePlan) -> Result<Self, StreamError> {
        let mut stream = CommandStream::new(AliasingTracking::ADVANCED);
        let heaps: Vec<StreamHeap> = plan.heaps.iter().map(|_| stream.add_heap()).collect();
        let mut resources: Vec<StreamResource> = Vec::new();
        for (resource, placement) in frame.resources.iter().zip(&plan.placements) {
            let (kind, state) = kind_and_state(resource.desc.kind);
            let (size, alignment) = (resource.desc.size, resource.desc.alignment);
            let heap = heaps[placement.heap];
            resources.push(stream.place(
                heap,
                placement.offset,
                kind,
                size,
                alignment,
                state,
                &resource.name,
            )?);
        }
        // What shares no memory is initialised once, before the first frame, by another queue.
        let setup = stream.add_queue();
        let kept: Vec<_> = (plan.not_aliased.iter())
            .map(|&(resource, _)| StreamCommand::CopyTo(resources[resource.0]))
            .collect();
        stream.execute(setup, &kept)?;
        let is_set_up = stream.signal(setup)?;
        let (mut queues, mut last_signals) = (Vec::new(), Vec::new());
        for _ in &frame.queues {
            let queue = stream.add_queue();
            stream.wait(queue, is_set_up)?;
            last_signals.push(stream.signal(queue)?);
            queues.push(queue);
        }
        Ok(Self { frame, plan, stream, queues, resources, last_signals })
    }

    /// Executes a frame, and leaves out the command with the number `left_out`. Returns the violations.
    fn run(&mut self, skips: bool, left_out: Option<usize>) -> Result<Vec<Violation>, StreamError> {
        let (mut violations, mut signals, mut first) = (Vec::new(), Vec::new(), 0);
        let previous = self.last_signals.clone();
        for submission in &self.plan.submissions {
            let number = submission.queue.0;
            let queue = self.queues[number];
            for other in &submission.after_previous_frame {
                self.stream.wait(queue, previous[other.0])?;
            }
            for &other in &submission.after {
                self.stream.wait(queue, signals[other])?;
            }
            let mut commands = self.commands(submission, skips);
            let count = commands.len();
            let place = left_out.and_then(|left_out| left_out.checked_sub(first));
            if let Some(place) = place.filter(|&place| place < count) {
                commands.remove(place);
            }
            first += count;
            violations.extend(self.stream.execute(queue, &commands)?);
            let signal = self.stream.signal(queue)?;
            signals.push(signal);
            self.last_signals[number] = signal;
        }
        Ok(violations)
    }

    fn commands(&self, submission: &Submission, skips: bool) -> Vec<StreamCommand> {
        let mut commands = Vec::new();
        for &id in &submission.passes {
            let pass = &self.frame.passes[id.0];
            if skips && pass.may_be_skipped {
                continue;
            }
            let activations = || self.plan.activations.iter().filter(|activation| activation.pass == id);
            for activation in activations() {
                commands.extend(activation.after.iter().map(|before| StreamCommand::AliasingBarrier {
                    before: Some(self.resources[before.0]),
                    after: Some(self.resources[activation.resource.0]),
                }));
            }
            for activation in activations() {
                if activation.initialisation == Initialisation::Discard {
                    commands.push(StreamCommand::Discard(self.resources[activation.resource.0]));
                }
            }
            commands.extend(pass.uses.iter().map(|used| {
                let resource = self.resources[used.resource];
                match used.how {
                    Use::Clear => StreamCommand::Clear(resource),
                    Use::Render => StreamCommand::Draw(resource),
                    Use::WriteUnordered | Use::Update => StreamCommand::Write(resource),
                    Use::CopyAll => StreamCommand::CopyTo(resource),
                    Use::Read => StreamCommand::Read(resource),
                }
            }));
        }
        commands
    }
}

fn kind_and_state(kind: ResourceKind) -> (StreamResourceKind, D3D12_RESOURCE_STATES) {
    match kind {
        ResourceKind::Buffer => (StreamResourceKind::Buffer, D3D12_RESOURCE_STATE_COMMON),
        ResourceKind::Texture | ResourceKind::UnorderedAccessTexture => {
            (StreamResourceKind::Texture, D3D12_RESOURCE_STATE_COMMON)
        }
        ResourceKind::RenderTarget { .. } => {
            (StreamResourceKind::RenderTarget, D3D12_RESOURCE_STATE_RENDER_TARGET)
        }
        ResourceKind::DepthStencil => (StreamResourceKind::DepthStencil, D3D12_RESOURCE_STATE_DEPTH_WRITE),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use heapwright_aliasing::frame::FramePlanOptions;
    use heapwright_runtime::aliasing::Rule;

    use super::*;
    use crate::input::read_text;
    use crate::plan::frame_file;

    /// A frame without one of its barriers or initialisations violates the rule of exactly that one. `heapwright`'s
    /// tests of transient memory have the same for the frames of two engines, on a device.
    #[test]
    fn each_barrier_and_each_initialisation_of_a_frame_is_needed() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/frame.json");
        let frame =
            frame_file::read("frame.json", &read_text(&path, "a frame").expect("a file")).expect("a frame");
        let plan = frame.frame.plan(&FramePlanOptions::default(), &mut || false).expect("a plan");
        assert_eq!(violation(&frame, &plan).expect("a frame").map(|found| found.to_string()), None);
        let mut replay = Replay::new(&frame, &plan).expect("resources");
        let all: Vec<StreamCommand> =
            plan.submissions.iter().flat_map(|submission| replay.commands(submission, false)).collect();
        let resources = replay.resources.clone();
        let of = |resource: StreamResource| resources.iter().position(|&other| other == resource);
        for _ in 0..2 {
            assert_eq!(replay.run(false, None), Ok(Vec::new()));
        }
        let (mut barriers, mut initialisations) = (0, 0);
        for (number, left_out) in all.iter().enumerate() {
            let initialisation = [Rule::I2, Rule::I3, Rule::I4];
            let (rules, resource, count): (&[Rule], _, _) = match left_out {
                StreamCommand::AliasingBarrier { after, .. } => {
                    (&[Rule::B1, Rule::B4], after.and_then(of), &mut barriers)
                }
                StreamCommand::Discard(resource)
                | StreamCommand::Clear(resource)
                | StreamCommand::CopyTo(resource) => (&initialisation, of(*resource), &mut initialisations),
                _ => continue,
            };
            let resource = resource.expect("a resource of the frame");
            let found = replay.run(false, Some(number)).expect("good commands");
            // What no other resource has overwritten needs no initialisation after the first frame.
            let is_shared = plan
                .activations
                .iter()
                .any(|activation| activation.resource.0 == resource && !activation.predecessors.is_empty());
            let named = format!("{left_out:?} of {}", frame.resources[resource].name);
            assert_eq!(found.is_empty(), !is_shared, "{named}");
            for violation in found {
                let subject = violation.resource.as_ref().and_then(|subject| subject.name.as_deref());
                assert!(rules.contains(&violation.rule), "{named}: {violation}");
                assert_eq!(subject, Some(&*frame.resources[resource].name), "{named}: {violation}");
            }
            *count += usize::from(is_shared);
        }
        assert!(barriers > 0 && initialisations > 2, "{barriers} {initialisations}");
    }
}
