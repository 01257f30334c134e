//! Resources as the tracker knows them.

use std::ops::Range;
use std::sync::{Mutex, PoisonError, Weak};

use heapwright_d3d12::*;

use super::content::{Cause, Content};
use super::coverage::{Coverage, Part, Region};
use super::ids::{HeapId, ResourceId};
use super::runs::Runs;
use super::shape::{Piece, Shape};
use super::state::BarrierState;
use crate::drivers::resource::DriverResource;
use crate::fence::clock::Epoch;

/// The name of an object, which the application may change at any time.
#[derive(Default)]
pub(crate) struct Label(Mutex<Option<Box<str>>>);

impl Label {
    pub(crate) fn set(&self, name: Option<&str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = name.map(Into::into);
    }

    pub(super) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_deref().map(str::to_owned)
    }
}

/// The location of a resource's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TrackedHome {
    /// In memory of its own, without overlaps.
    Committed,
    Placed {
        heap: HeapId,
        offset: u64,
    },
    /// Tile by tile: in a tile of a heap, or unmapped.
    Reserved(Runs<Option<TileHome>>),
}

/// The mapping of a run of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileHome {
    pub(super) heap: HeapId,
    /// The heap's tile index minus the resource's, so that consecutive tiles have equal values.
    pub(super) shift: i64,
    /// Whether all tiles are mapped to the same one.
    pub(super) repeated: bool,
}

/// The last access by an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) epoch: Epoch,
    /// The step of the submission.
    pub(super) step: u64,
    /// The scopes that a barrier must wait for: those of all accesses since the submission began.
    pub(super) sync: D3D12_BARRIER_SYNC,
}

impl Touch {
    /// Makes this the last access of its agent, unless there is a later one.
    pub(super) fn replace_in(self, touches: &mut Vec<Self>) {
        match touches.iter_mut().find(|touch| touch.epoch.agent == self.epoch.agent) {
            Some(touch) if (touch.epoch.number, touch.step) > (self.epoch.number, self.step) => {}
            Some(touch) => *touch = self,
            None => touches.push(self),
        }
    }
}

/// The properties that must match for data to be inherited.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Identity {
    pub(crate) desc: D3D12_RESOURCE_DESC1,
    /// Format and bits of the optimized clear value, as specified by the application.
    pub(crate) clear_value: Option<(DXGI_FORMAT, [u32; 4])>,
}

/// A tracked resource.
#[derive(Clone)]
pub(super) struct TrackedResource {
    pub(super) id: ResourceId,
    /// Keeps the address, by which commands find the resource, from being reused.
    pub(super) driver: Weak<DriverResource>,
    /// The GPU virtual address of the first byte.
    pub(super) address: u64,
    pub(super) label: std::sync::Arc<Label>,
    pub(super) identity: Identity,
    pub(super) shape: Shape,
    pub(super) home: TrackedHome,
    /// Contents by unit.
    pub(super) content: Runs<Content>,
    /// Whether the resource was the last user, by place.
    pub(super) owned: Runs<bool>,
    /// States by subresource.
    pub(super) state: Runs<BarrierState>,
    /// Whether a barrier ended accesses, by subresource.
    pub(super) no_access: Runs<bool>,
    /// The last access of each agent, by place in a reserved resource. Others are accessed as a whole.
    pub(super) touches: Runs<Vec<Touch>>,
    /// Whether a barrier has ever activated the resource.
    pub(super) was_activated: bool,
    /// Whether it changed from LayoutBefore UNDEFINED to a layout that may be compressed without being a target.
    pub(super) needs_initialisation: bool,
    /// Whether an enhanced barrier was the last activation.
    pub(super) came_from_undefined: bool,
    /// The submission of the last access or barrier.
    pub(super) last_seen: Option<Epoch>,
    /// The submission in which a barrier announced that no accesses follow.
    pub(super) ended_in: Option<Epoch>,
    /// Calls of `Map` without `Unmap`. If not zero, the CPU may write at any time.
    pub(super) map_count: u32,
    /// Number of ranges of heaps of which it is the last user.
    pub(super) use_count: i64,
    /// Number of skipped draws and dispatches at the time of the last use.
    pub(super) used_after: u64,
    /// The number of the last change, in the order of [`Changes`](super::changes::Changes).
    pub(super) changed: u64,
}

impl TrackedResource {
    /// Returns whether the resource must be initialised before use.
    pub(super) fn has_duty(&self) -> bool {
        self.home != TrackedHome::Committed && (self.shape.is_target || self.needs_initialisation)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.driver.strong_count() == 0
    }

    /// Returns the state of a unit's subresources: that of the first one that is not in COMMON, if any.
    pub(super) fn state_of_unit(&self, unit: u32) -> BarrierState {
        let mut found = BarrierState::COMMON;
        for (_, state) in self.state.iter(self.shape.subresources_of_unit(unit)) {
            found = *state;
            if !state.is_common() {
                break;
            }
        }
        found
    }

    /// Returns whether the resource was accessed in a submission.
    pub(super) fn is_touched_in(&self, epoch: Epoch) -> bool {
        !self.touches.all(0..u32::MAX, |touches| touches.iter().all(|touch| touch.epoch != epoch))
    }

    /// Returns the last accesses to bytes, which are mapped to memory.
    pub(super) fn touches_of(&self, bytes: &Range<u64>) -> impl Iterator<Item = Touch> {
        self.touches.iter(self.shape.places_of_bytes(bytes)).flat_map(|(_, touches)| touches.iter().copied())
    }

    /// Records an access to pieces. `sync` determines what a barrier has to wait for, from the agent's last access.
    pub(super) fn touch(
        &mut self,
        (epoch, step): (Epoch, u64),
        pieces: &[Piece],
        sync: impl Fn(Option<Touch>) -> D3D12_BARRIER_SYNC,
    ) {
        self.last_seen = Some(epoch);
        let mut touch = |places| {
            self.touches.update(places, |touches| {
                let last = touches.iter().copied().find(|touch| touch.epoch == epoch);
                Touch { epoch, step, sync: sync(last) }.replace_in(touches);
            });
        };
        if let TrackedHome::Reserved(_) = self.home {
            pieces.iter().for_each(|piece| touch(self.shape.places_of_units(&piece.units)));
        } else {
            touch(0..u32::MAX);
        }
    }

    /// Invalidates the contents of units. If they are already invalidated, the original cause remains.
    pub(super) fn invalidate(&mut self, units: Range<u32>, cause: Cause) {
        let undefined = Content::undefined(cause);
        let is_by_other = |cause| matches!(cause, Cause::Invalidated { .. });
        self.content.update(units, |content| {
            let is_lost = content.initialised == Coverage::None && is_by_other(content.cause);
            if !(is_lost && is_by_other(cause)) {
                content.clone_from(&undefined);
            }
        });
    }

    /// Like [`invalidate`](Self::invalidate), for bytes of a buffer.
    pub(super) fn invalidate_bytes(&mut self, bytes: &Range<u64>, cause: Cause) {
        let lost = Region::bytes(bytes.start, bytes.end);
        for unit in self.shape.places_of_bytes(bytes) {
            let Some(whole) = self.shape.whole_of_unit(unit) else { continue };
            let Some(part) = whole.intersection(&lost) else { continue };
            if part == whole {
                self.invalidate(unit..unit + 1, cause);
            } else {
                self.undefine_bytes(&(part.start[0]..part.end[0]), cause);
            }
        }
    }

    /// Makes bytes of a buffer undefined, with the given cause.
    pub(super) fn undefine_bytes(&mut self, bytes: &Range<u64>, cause: Cause) {
        let lost = Region::bytes(bytes.start, bytes.end);
        for unit in self.shape.places_of_bytes(bytes) {
            let Some(whole) = self.shape.whole_of_unit(unit) else { continue };
            let Some(part) = whole.intersection(&lost) else { continue };
            self.content.update(unit..unit + 1, |content| {
                content.valid.remove(part, Some(whole));
                content.initialised.remove(part, Some(whole));
                content.cause = cause;
            });
        }
    }

    /// Makes a piece valid.
    pub(super) fn validate(&mut self, piece: &Piece) {
        if piece.part == Part::Full {
            self.content.set(piece.units.clone(), &Content::valid());
            return;
        }
        for unit in piece.units.clone() {
            let whole = self.shape.whole_of_unit(unit);
            self.content.update(unit..unit + 1, |content| {
                content.initialised.add(piece.part, whole);
                content.valid.add(piece.part, whole);
                // Partially known contents count as known.
                if content.is_unknown() {
                    *content = Content::valid();
                }
            });
        }
    }

    /// Returns the memory of places: heap, bytes in it, and their offset in the resource.
    pub(super) fn memory_of_places(&self, places: &Range<u32>) -> Vec<(HeapId, Range<u64>, u64)> {
        use super::granularity::KIB_64;
        match &self.home {
            TrackedHome::Committed => Vec::new(),
            TrackedHome::Placed { heap, offset } => {
                let bytes = self.shape.bytes_of_places(places);
                vec![(*heap, offset + bytes.start..offset + bytes.end, bytes.start)]
            }
            TrackedHome::Reserved(tiles) => tiles
                .iter(places.clone())
                .filter_map(|(run, home)| Some((run, (*home)?)))
                .flat_map(|(run, home)| {
                    let at = |tile: u32| u64::try_from(i64::from(tile) + home.shift).unwrap_or(0) * KIB_64;
                    let offset = |tile: u32| u64::from(tile) * KIB_64;
                    if home.repeated {
                        let tile = u64::try_from(home.shift).unwrap_or(0) * KIB_64;
                        run.map(|index| (home.heap, tile..tile + KIB_64, offset(index))).collect()
                    } else {
                        let start = at(run.start);
                        let end = start + offset(run.end - run.start);
                        vec![(home.heap, start..end, offset(run.start))]
                    }
                })
                .collect(),
        }
    }
}
