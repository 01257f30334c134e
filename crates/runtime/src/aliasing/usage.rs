//! The effects of commands on contents: reads, writes, discards.

use std::ops::Range;

use heapwright_d3d12::*;

use super::access::Kind;
use super::content::{Cause, Content};
use super::coverage::{Coverage, Part, Region};
use super::granularity::KIB_64;
use super::handover::Reason;
use super::ids::ResourceId;
use super::judge::{Judge, Step};
use super::laws::AliasingLaws;
use super::prohibitions::{AFTER_THE_END, Breach, DISCARD, INVALID, LateAccess, UNINITIALISED, Undefined};
use super::resource::TrackedResource;
use super::rule::Rule;
use super::shape::Piece;
use super::state::BarrierState;
use super::submission::Submission;
use super::violation::Severity;
use crate::drivers::command::Command;

/// An access as the tracker sees it.
#[derive(Debug, Clone)]
pub(super) struct Usage {
    pub(super) pieces: Vec<Piece>,
    pub(super) subresources: Range<u32>,
    pub(super) kind: Kind,
    pub(super) sync: D3D12_BARRIER_SYNC,
    pub(super) state: D3D12_RESOURCE_STATES,
}

impl Judge {
    /// Applies a command's use of a resource.
    pub(super) fn use_resource(&mut self, step: &mut Step<'_>, id: ResourceId, usage: &Usage) {
        let Some(mut resource) = self.take(id) else { return };
        self.check_announcements(step.submission, &resource, &usage.subresources);
        let reason = Reason::Access(usage.kind);
        let mut undefined = Vec::new();
        for piece in &usage.pieces {
            let places = resource.shape.places_of_units(&piece.units);
            undefined.extend(self.take_over(step.submission, &mut resource, places, reason));
        }
        undefined.extend(self.take_hidden(step.submission, &mut resource, reason));
        if resource.map_count > 0 {
            // The CPU may have written at any time.
            for piece in &usage.pieces {
                resource.content.set(piece.units.clone(), &Content::valid());
            }
        }
        undefined.retain(|units| !is_overwritten(units, usage));
        self.scramble(step.commands, &resource, &undefined);
        for piece in &usage.pieces {
            match usage.kind {
                Kind::Read => self.check_read(step.submission, &resource, piece),
                Kind::Skipped => _ = self.check_initialised(step.submission, &resource, piece),
                Kind::Initialise | Kind::Write => {
                    self.write(step.submission, &mut resource, piece, usage.kind);
                }
            }
        }
        step.submission.touch(&mut resource, &usage.pieces, usage.sync);
        if !resource.shape.is_stateless() && usage.state != 0 {
            let mut is_promoted = false;
            resource.state.update(usage.subresources.clone(), |state| {
                let promoted = state.promoted(usage.state);
                is_promoted |= promoted != *state;
                *state = promoted;
            });
            if is_promoted || step.submission.on_copy_queue {
                step.submission.promoted.push(id);
            }
        }
        self.put(resource);
    }

    /// Takes over the memory after the last tile, which every access to the resource uses.
    pub(super) fn take_hidden(
        &mut self,
        submission: &mut Submission,
        resource: &mut TrackedResource,
        reason: Reason,
    ) -> Vec<Range<u32>> {
        match resource.shape.hidden_place() {
            Some(hidden) if self.has(AliasingLaws::HIDDEN_MEMORY) => {
                let lost = self.take_over(submission, resource, hidden..hidden + 1, reason);
                // The place has no units of its own.
                lost.into_iter().filter(|units| !units.is_empty()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Rules E-4 and E-7: checks an access against earlier barriers that exclude it.
    pub(super) fn check_announcements(
        &mut self,
        submission: &mut Submission,
        resource: &TrackedResource,
        subresources: &Range<u32>,
    ) {
        let access = LateAccess {
            has_no_access: !resource.no_access.all(subresources.clone(), |ended| !ended),
            has_ended: resource.ended_in == Some(submission.epoch),
        };
        self.check(submission, (AFTER_THE_END, &access), Some(resource), None);
    }

    /// Overwrites contents that have become undefined, so that programs cannot rely on them.
    pub(super) fn scramble(
        &mut self,
        commands: &mut Vec<Command>,
        resource: &TrackedResource,
        undefined: &[Range<u32>],
    ) {
        let bytes = undefined.iter().flat_map(|units| resource.undefined_bytes(units)).collect();
        self.scramble_bytes(commands, resource, bytes);
    }

    /// Overwrites bytes of a resource.
    pub(super) fn scramble_bytes(
        &mut self,
        commands: &mut Vec<Command>,
        resource: &TrackedResource,
        bytes: Vec<Range<u64>>,
    ) {
        let (Some(seed), Some(driver)) = (self.options.scramble, resource.driver.upgrade()) else { return };
        if bytes.is_empty() {
            return;
        }
        let ranges: Vec<(u64, u64)> =
            bytes.into_iter().map(|bytes| (bytes.start, bytes.end - bytes.start)).collect();
        self.scrambles += 1;
        let seed = seed ^ self.scrambles.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        commands.push(Command::Scramble { target: driver, ranges: ranges.into(), seed });
    }

    fn check_read(&mut self, submission: &mut Submission, resource: &TrackedResource, piece: &Piece) {
        let failed = resource.content.iter(piece.units.clone()).find_map(|(run, content)| {
            if content.valid.covers(piece.part) {
                return None;
            }
            let (rule, because) = self.why_not_read(resource, content, piece)?;
            Some((run, rule, because))
        });
        let Some((units, rule, because)) = failed else { return };
        let what = match rule {
            Rule::I8 => "is read after a discard",
            Rule::I4 | Rule::I5 | Rule::I14 | Rule::E3 => "is read before it is initialised",
            _ => "is read where its contents are invalid",
        };
        self.say_undefined(submission, resource, (rule, because), units, what);
    }

    /// Records an error that concerns contents of a resource.
    fn say_undefined(
        &mut self,
        submission: &mut Submission,
        resource: &TrackedResource,
        (rule, because): (Rule, Option<Rule>),
        units: Range<u32>,
        what: &'static str,
    ) {
        let other = resource.content.get(units.start).and_then(|content| content.cause.by());
        let breach = Breach { rule, severity: Severity::Error, what };
        self.say(submission, &breach, (Some(resource), other), Some((units, because)));
    }

    /// Returns the rule that forbids reading invalid contents, and the rule that made them invalid. `None` if they are
    /// zeros.
    fn why_not_read(
        &self,
        resource: &TrackedResource,
        content: &Content,
        piece: &Piece,
    ) -> Option<(Rule, Option<Rule>)> {
        let undefined = resource.undefined(content, piece);
        let is_fresh = !matches!(content.cause, Cause::Skipped { .. } | Cause::Invalidated { .. });
        if resource.has_duty() && is_fresh && !undefined.is_discarded {
            return self.why_not_initialised(resource, content, piece);
        }
        let rule = *self.options.laws.effects(INVALID, &undefined).next()?;
        Some((rule, content.cause.because().filter(|_| !undefined.is_discarded)))
    }

    /// Returns the rule that requires initialisation, and the reason why a piece that was written is not sufficient.
    fn why_not_initialised(
        &self,
        resource: &TrackedResource,
        content: &Content,
        piece: &Piece,
    ) -> Option<(Rule, Option<Rule>)> {
        let undefined = resource.undefined(content, piece);
        let rule = *self.options.laws.effects(UNINITIALISED, &undefined).next()?;
        let mut because = content.cause.because();
        if !resource.shape.has_tiles() && is_tile_sized(resource, piece) {
            because = Some(Rule::I6);
        } else if because.is_none() {
            let other_is = |content: &Content| content.initialised == Coverage::None;
            let any_other = !resource.content.all(0..resource.shape.unit_count(), other_is);
            because = any_other.then_some(Rule::I7);
        }
        Some((rule, because))
    }

    /// Checks that a piece may be used without initialisation. Otherwise records a violation and returns false.
    fn check_initialised(
        &mut self,
        submission: &mut Submission,
        resource: &TrackedResource,
        piece: &Piece,
    ) -> bool {
        if !resource.has_duty() {
            return true;
        }
        let failed = resource.content.iter(piece.units.clone()).find_map(|(run, content)| {
            if content.initialised.covers(piece.part) {
                return None;
            }
            let (rule, because) = self.why_not_initialised(resource, content, piece)?;
            Some((run, rule, because))
        });
        let Some((units, rule, because)) = failed else { return true };
        let what = "is used before a whole subresource or tile is initialised";
        self.say_undefined(submission, resource, (rule, because), units, what);
        false
    }

    fn write(
        &mut self,
        submission: &mut Submission,
        resource: &mut TrackedResource,
        piece: &Piece,
        kind: Kind,
    ) {
        let has_duty = resource.has_duty();
        let is_whole = piece.is_whole
            || (!self.has(AliasingLaws::TILES_OF_DEFINED_LAYOUTS) && is_tile_sized(resource, piece));
        let initialises = kind == Kind::Initialise && is_whole;
        if !initialises && !self.check_initialised(submission, resource, piece) {
            resource.validate_where(piece, |content| content.initialised.covers(piece.part));
            return;
        }
        if initialises && has_duty && !self.has(AliasingLaws::UNITS_ARE_INDEPENDENT) {
            resource.content.set(0..resource.shape.unit_count(), &Content::valid());
            return;
        }
        // A buffer is one subresource.
        let is_subresource = !resource.shape.is_buffer() || piece.units == (0..resource.shape.unit_count());
        if self.has(AliasingLaws::INVALID_NEEDS_WHOLE_UNITS) && !(initialises && is_subresource) {
            resource.validate_where(piece, |content| {
                let is_invalidated = matches!(content.cause, Cause::Invalidated { .. });
                !is_invalidated || content.initialised == Coverage::Full
            });
        } else {
            resource.validate(piece);
        }
    }

    /// Applies a render pass that preserves contents: they must be initialised, but need not be valid.
    pub(super) fn load(&mut self, step: &mut Step<'_>, id: ResourceId, subresources: &[Range<u32>]) {
        let Some(mut resource) = self.take(id) else { return };
        let reason = Reason::Access(Kind::Write);
        let mut undefined = self.take_hidden(step.submission, &mut resource, reason);
        for range in subresources {
            self.check_announcements(step.submission, &resource, range);
            let pieces: Vec<Piece> =
                range.clone().flat_map(|index| resource.shape.subresource(index)).collect();
            for piece in pieces {
                let places = resource.shape.places_of_units(&piece.units);
                undefined.extend(self.take_over(step.submission, &mut resource, places, reason));
                self.check_initialised(step.submission, &resource, &piece);
                step.submission.touch(&mut resource, &[piece], D3D12_BARRIER_SYNC_RENDER_TARGET);
            }
        }
        self.scramble(step.commands, &resource, &undefined);
        self.put(resource);
    }

    /// Applies a discard: the contents are initialised, but undefined.
    pub(super) fn discard(
        &mut self,
        step: &mut Step<'_>,
        id: ResourceId,
        subresources: &[Range<u32>],
        (is_whole, is_compute): (bool, bool),
    ) {
        let Some(mut resource) = self.take(id) else { return };
        // First, as it may invalidate the whole resource.
        self.take_hidden(step.submission, &mut resource, Reason::Access(Kind::Write));
        let mut undefined = Vec::new();
        for subresources in subresources {
            self.check_announcements(step.submission, &resource, subresources);
            let flags = resource.identity.desc.Flags;
            // With simultaneous access, COMMON is the only layout.
            let only = Some(BarrierState::Layout(D3D12_BARRIER_LAYOUT_COMMON))
                .filter(|_| resource.shape.is_stateless());
            let is_in_state = resource.state.all(subresources.clone(), |state| {
                only == Some(*state) || state.allows_discard(is_compute, flags)
            });
            self.check(step.submission, (DISCARD, &is_in_state), Some(&resource), None);
            for subresource in subresources.clone() {
                for piece in resource.shape.subresource(subresource) {
                    let places = resource.shape.places_of_units(&piece.units);
                    let reason = Reason::Access(Kind::Write);
                    self.take_over(step.submission, &mut resource, places, reason);
                    undefined.push(piece.units.clone());
                    discard_piece(&mut resource, &piece, is_whole);
                    // A discard has no work of its own to wait for.
                    step.submission.touch(&mut resource, &[piece], 0);
                }
            }
        }
        let is_packed = |units: &Range<u32>| resource.shape.packed_tiles(units.start).is_some();
        undefined.retain(|units| !is_packed(units));
        if is_whole {
            self.scramble(step.commands, &resource, &undefined);
        }
        self.put(resource);
    }
}

/// Discards a piece, which is initialised then if it was discarded entirely.
pub(super) fn discard_piece(resource: &mut TrackedResource, piece: &Piece, is_whole: bool) {
    if piece.part == Part::Full {
        resource.content.update(piece.units.clone(), |content| {
            if is_whole {
                *content = Content::discarded();
            } else {
                content.valid = Coverage::None;
            }
        });
        return;
    }
    let Part::Region(region) = piece.part else { return };
    resource.content.update(piece.units.clone(), |content| {
        if is_whole {
            content.initialised.add(piece.part, None);
        }
        content.valid.remove(region, None);
    });
}

impl TrackedResource {
    /// Describes contents that are not defined in all of a piece.
    fn undefined(&self, content: &Content, piece: &Piece) -> Undefined {
        Undefined {
            cause: content.cause,
            is_discarded: content.initialised.covers(piece.part) && content.initialised != Coverage::None,
            came_from_undefined: self.needs_initialisation || self.came_from_undefined,
        }
    }

    /// Makes a piece valid in units whose contents satisfy a condition.
    fn validate_where(&mut self, piece: &Piece, is_so: impl Fn(&Content) -> bool) {
        let units = self.content.iter(piece.units.clone()).filter(|(_, content)| is_so(content));
        let units: Vec<Range<u32>> = units.map(|(units, _)| units).collect();
        for units in units {
            self.validate(&Piece { units, ..piece.clone() });
        }
    }

    /// Returns the bytes of units that are undefined and in which no other resource has defined contents.
    pub(super) fn undefined_bytes(&self, units: &Range<u32>) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        let has_value = |content: &Content| content.valid != Coverage::None && !content.is_unknown();
        // The bytes of an opaque texture cannot be attributed to subresources.
        let shared =
            !self.shape.is_defined() && !self.content.all(0..u32::MAX, |content| !has_value(content));
        if shared {
            return found;
        }
        for (run, content) in self.content.iter(units.clone()) {
            let places = self.shape.places_of_units(&run);
            let owned = self.owned.iter(places).filter(|(_, owned)| **owned).map(|(places, _)| places);
            match &content.valid {
                Coverage::Full if !content.is_unknown() => {}
                Coverage::Full | Coverage::None => {
                    found.extend(owned.map(|places| self.shape.bytes_of_places(&places)))
                }
                // The layout determines the position of texels, so the whole unit is skipped.
                Coverage::Parts(_) if !self.shape.is_buffer() => {}
                Coverage::Parts(parts) => {
                    for bytes in owned.map(|places| self.shape.bytes_of_places(&places)) {
                        let mut left = vec![Region::bytes(bytes.start, bytes.end)];
                        for part in parts {
                            left = left.iter().flat_map(|rest| rest.without(part)).collect();
                        }
                        found.extend(left.iter().map(|region| region.start[0]..region.end[0]));
                    }
                }
            }
        }
        found.retain(|bytes| !bytes.is_empty());
        found
    }
}

/// Returns whether all undefined bytes are about to be overwritten.
fn is_overwritten(units: &Range<u32>, usage: &Usage) -> bool {
    let covers = |piece: &Piece| {
        piece.part == Part::Full && piece.units.start <= units.start && units.end <= piece.units.end
    };
    !usage.kind.is_read() && usage.pieces.iter().any(covers)
}

/// Returns whether a piece is a part of at least the size of a tile.
fn is_tile_sized(resource: &TrackedResource, piece: &Piece) -> bool {
    let (Part::Region(Region { start, end, .. }), Some(texture)) = (piece.part, resource.shape.texture)
    else {
        return false;
    };
    let blocks = |axis: usize, size: u32| (end[axis] - start[axis]).div_ceil(u64::from(size.max(1)));
    let format = texture.format;
    let volume = blocks(0, format.block_width)
        .saturating_mul(blocks(1, format.block_height))
        .saturating_mul(end[2] - start[2]);
    !piece.is_whole && volume.saturating_mul(u64::from(format.block_bytes)) >= KIB_64
}
