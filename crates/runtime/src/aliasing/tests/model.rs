//! A simple model of the rules of aliasing: every access is logged, every element of every resource has its own state,
//! and the effects of an access are applied to all others immediately. Written from the rules, independently of the
//! tracker.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use heapwright_d3d12::*;

use super::stage::{KIB_4, KIB_64, Kind};
use crate::aliasing::rule::Rule;
use crate::ddi::TextureMemoryLayout;

/// Size of an element of a buffer, in bytes.
pub(super) const CELL: u64 = 1024;
/// Width and height of an element of a texture, in texels.
pub(super) const BLOCK: u32 = 64;

/// The state of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    Valid,
    /// Initialised, but undefined.
    Discarded,
    Never {
        zeroed: bool,
    },
    /// Activated by a barrier although no other resource has used it since it was initialised.
    Activated,
    Invalid,
}

impl Element {
    fn is_initialised(self) -> bool {
        matches!(self, Self::Valid | Self::Discarded)
    }
}

/// The state of a subresource, and whether an access promoted it.
type State = (D3D12_RESOURCE_STATES, bool);

#[derive(Debug, Clone)]
pub(super) struct Resource {
    pub(super) kind: Kind,
    offset: u64,
    size: u64,
    granule: u64,
    /// Elements by unit.
    pub(super) elements: Vec<Vec<Element>>,
    pub(super) states: Vec<State>,
    /// Time of the last use of each place.
    used: Vec<u64>,
    /// Submission and step of the last access, by agent.
    touches: Vec<Option<(u64, usize)>>,
    was_activated: bool,
}

impl Resource {
    pub(super) fn is_buffer(&self) -> bool {
        matches!(self.kind, Kind::Buffer { .. })
    }

    fn is_tight(&self) -> bool {
        matches!(self.kind, Kind::Buffer { tight: true, .. })
    }

    fn layout(&self) -> Option<TextureMemoryLayout> {
        match self.kind {
            Kind::Buffer { .. } => None,
            Kind::Texture { layout, .. } => Some(layout),
        }
    }

    pub(super) fn is_opaque(&self) -> bool {
        self.layout() == Some(TextureMemoryLayout::Unknown)
    }

    pub(super) fn is_rows(&self) -> bool {
        self.layout() == Some(TextureMemoryLayout::RowMajor)
    }

    /// Returns whether the layout defines the position of each texel.
    fn is_told(&self) -> bool {
        matches!(
            self.layout(),
            Some(TextureMemoryLayout::RowMajor | TextureMemoryLayout::StandardSwizzle64Kib)
        )
    }

    pub(super) fn is_tiled(&self) -> bool {
        self.layout().is_some_and(TextureMemoryLayout::is_tiled)
    }

    fn is_target(&self) -> bool {
        matches!(self.kind, Kind::Texture { usage, .. } if usage.render_target)
    }

    fn is_stateless(&self) -> bool {
        match self.kind {
            Kind::Buffer { .. } => true,
            Kind::Texture { usage, .. } => usage.simultaneous_access || usage.cross_adapter,
        }
    }

    /// Returns the subresource of a unit.
    fn subresource(&self, unit: usize) -> usize {
        if self.is_buffer() { 0 } else { unit * self.states.len() / self.elements.len() }
    }

    fn all(&self) -> Range<u64> {
        self.offset..self.offset + self.size
    }

    /// Returns a place of 64 KiB, the last of which may not be a unit; a single place if the layout is undefined.
    fn place(&self, place: usize) -> Range<u64> {
        if self.is_opaque() {
            return self.offset..self.offset + self.size;
        }
        let start = place as u64 * KIB_64;
        self.offset + start..self.offset + (start + KIB_64).min(self.size)
    }

    fn places_of(&self, units: &BTreeSet<usize>) -> BTreeSet<usize> {
        let hidden = self.elements.len()..self.used.len();
        if self.is_opaque() { BTreeSet::from([0]) } else { units.iter().copied().chain(hidden).collect() }
    }

    /// Returns the name of the state of a unit; `None` if its parts were lost in different ways.
    pub(super) fn summary(&self, unit: usize) -> Option<&'static str> {
        let elements = &self.elements[unit];
        let all = |test: fn(&Element) -> bool| elements.iter().all(test);
        Some(if all(|element| *element == Element::Valid) {
            "valid"
        } else if elements.contains(&Element::Valid) {
            "partly"
        } else if elements.contains(&Element::Discarded) {
            "discarded"
        } else if all(|element| matches!(element, Element::Never { .. })) {
            "uninitialised"
        } else if all(|element| matches!(element, Element::Invalid | Element::Activated)) {
            "invalid"
        } else {
            return None;
        })
    }
}

/// A use of memory.
#[derive(Debug, Clone)]
struct Use {
    resource: usize,
    bytes: Range<u64>,
}

/// The effect of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Read,
    Copy,
    /// A write other than a copy or clear.
    Write,
    Discard,
    /// A transition, which changes only the state.
    Transition(D3D12_RESOURCE_STATES),
    /// An activating barrier of the simple model.
    Activate,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    is_simple: bool,
    is_shared: bool,
    is_zeroed: bool,
    /// Whether, for every resource, only copies of a whole subresource or tile make invalid elements valid.
    is_strict: bool,
    pub(super) resources: Vec<Resource>,
    /// All uses of the heap, oldest first. Times are indices into it, plus one.
    log: Vec<Use>,
    /// The submissions that happened before, as agent and number, by agent.
    seen: Vec<HashSet<(usize, u64)>>,
    /// The submissions that happened before a signal, by fence value.
    signals: Vec<HashSet<(usize, u64)>>,
    agent: usize,
    submission: u64,
    step: usize,
    /// The barriers of the submission: before, after, step.
    barriers: Vec<(Option<usize>, Option<usize>, usize)>,
    /// The required violations of order in the submission.
    pub(super) order: BTreeSet<(Rule, usize)>,
    /// The allowed violations of each wrong access to contents, one of which is required.
    pub(super) contents: Vec<(BTreeSet<Rule>, usize)>,
}

fn expand(bytes: &Range<u64>, granule: u64) -> Range<u64> {
    bytes.start / granule * granule..bytes.end.div_ceil(granule) * granule
}

fn meet(one: &Range<u64>, two: &Range<u64>) -> Range<u64> {
    one.start.max(two.start)..one.end.min(two.end)
}

impl Model {
    pub(super) fn new(is_simple: bool, is_shared: bool, is_zeroed: bool, is_strict: bool) -> Self {
        Self { is_simple, is_shared, is_zeroed, is_strict, ..Self::default() }
    }

    pub(super) fn add(&mut self, kind: Kind, offset: u64, state: D3D12_RESOURCE_STATES) {
        let (size, granule) = match (kind, kind.allocation()) {
            // After its last byte, a buffer has a part of the granule, but no contents.
            (Kind::Buffer { width, .. }, (_, granule)) => (width, granule),
            (Kind::Texture { .. }, both) => both,
        };
        let never = Element::Never { zeroed: self.is_zeroed };
        let (elements, places, states) = match kind {
            Kind::Buffer { width, .. } => {
                let cells = width.div_ceil(CELL);
                let units: Vec<Vec<Element>> = (0..size.div_ceil(KIB_64))
                    .map(|unit| {
                        let in_unit = cells.saturating_sub(unit * KIB_64 / CELL).min(KIB_64 / CELL);
                        vec![never; in_unit as usize]
                    })
                    .collect();
                let places = units.len();
                (units, places, 1)
            }
            Kind::Texture { layout: TextureMemoryLayout::Unknown, side, slices, .. } => {
                let blocks = side.div_ceil(BLOCK).pow(2) as usize;
                (vec![vec![never; blocks]; slices as usize], 1, slices)
            }
            Kind::Texture { layout: TextureMemoryLayout::RowMajor, side, slices, hidden, .. } => {
                // Rows of whole pitches; smaller parts are not distinguished.
                let rows = (u64::from(side) * u64::from(side) * 4).div_ceil(KIB_64) as usize;
                (vec![vec![never]; rows], rows + usize::from(hidden > 0), slices)
            }
            Kind::Texture { side, slices, hidden, .. } => {
                let tiles = ((side / 128).pow(2) * slices) as usize;
                (vec![vec![never; 4]; tiles], tiles + usize::from(hidden > 0), slices)
            }
        };
        self.resources.push(Resource {
            kind,
            offset,
            size,
            granule,
            elements,
            states: vec![(state, false); states as usize],
            used: vec![0; places],
            touches: vec![None; 4],
            was_activated: false,
        });
    }

    /// Returns the granularity that applies: the larger one. Tight buffers have 64 KiB next to other resources, and are
    /// distinguished by bytes among themselves.
    fn granule(&self, one: usize, two: usize) -> u64 {
        let (one, two) = (&self.resources[one], &self.resources[two]);
        if one.is_tight() && two.is_tight() {
            return one.granule.max(two.granule);
        }
        let own =
            |resource: &Resource| if resource.is_tight() { KIB_64 } else { resource.granule.max(KIB_4) };
        own(one).max(own(two))
    }

    pub(super) fn submit(&mut self, agent: usize) {
        self.seen.resize(4, HashSet::new());
        self.submission += 1;
        (self.agent, self.step) = (agent, 0);
        self.barriers.clear();
        self.order.clear();
        self.contents.clear();
        self.seen[agent].insert((agent, self.submission));
    }

    pub(super) fn end(&mut self) {
        for (state, is_promoted) in self.resources.iter_mut().flat_map(|resource| &mut resource.states) {
            if *is_promoted && *state == D3D12_RESOURCE_STATE_COPY_SOURCE {
                (*state, *is_promoted) = (D3D12_RESOURCE_STATE_COMMON, false);
            }
        }
    }

    /// Signals a fence and returns its value.
    pub(super) fn signal(&mut self, agent: usize) -> u64 {
        self.seen.resize(4, HashSet::new());
        self.signals.push(self.seen[agent].clone());
        self.signals.len() as u64
    }

    pub(super) fn wait(&mut self, agent: usize, value: u64) {
        self.seen.resize(4, HashSet::new());
        let Some(known) =
            usize::try_from(value).ok().and_then(|value| self.signals.get(value.checked_sub(1)?))
        else {
            return;
        };
        let known = known.clone();
        self.seen[agent].extend(known);
    }

    pub(super) fn barrier(&mut self, before: Option<usize>, after: Option<usize>) {
        self.step += 1;
        if self.is_simple && after.is_none() {
            self.order.insert((Rule::B3, usize::MAX));
        }
        self.barriers.push((before, after, self.step));
        let Some(after) = after else { return };
        self.resources[after].was_activated = true;
        if self.is_simple {
            self.take_all(after, Effect::Activate);
            return;
        }
        let resource = &self.resources[after];
        let is_free = (0..resource.used.len()).all(|place| self.is_owner(after, place));
        if resource.is_target() && is_free {
            for element in self.resources[after].elements.iter_mut().flatten() {
                if element.is_initialised() {
                    *element = Element::Activated;
                }
            }
            for unit in &mut self.resources[after].elements {
                // A partially initialised unit becomes entirely undefined.
                if unit.contains(&Element::Activated) {
                    unit.fill(Element::Activated);
                }
            }
        }
    }

    /// Returns whether no conflicting resource has used a place since its resource did.
    fn is_owner(&self, id: usize, place: usize) -> bool {
        let resource = &self.resources[id];
        resource.used[place] > 0 && self.since(id, place).next().is_none()
    }

    /// Returns conflicting uses of a place since its resource used it.
    fn since(&self, id: usize, place: usize) -> impl Iterator<Item = &Use> {
        let resource = &self.resources[id];
        let bytes = resource.place(place);
        let from = usize::try_from(resource.used[place]).expect("the value fits");
        self.log[from..].iter().filter(move |other| {
            let granule = self.granule(id, other.resource);
            other.resource != id && !meet(&expand(&bytes, granule), &other.bytes).is_empty()
        })
    }

    fn take_all(&mut self, id: usize, effect: Effect) {
        let units = (0..self.resources[id].elements.len()).collect();
        self.take(id, &units, effect);
    }

    /// Applies the use of units: the contents found, violations of order, and losses of other resources.
    fn take(&mut self, id: usize, units: &BTreeSet<usize>, effect: Effect) {
        let places: Vec<usize> = self.resources[id].places_of(units).into_iter().collect();
        let lost: Vec<usize> = places.into_iter().filter(|&place| !self.is_owner(id, place)).collect();
        if lost.is_empty() {
            return;
        }
        if self.is_simple && effect != Effect::Activate {
            let rule = if self.resources[id].was_activated { Rule::I13 } else { Rule::I12 };
            self.order.insert((rule, id));
        }
        self.check_order(id, &lost, effect);
        // Determine the contents: each use since the last one invalidates or replaces them.
        let mut found = self.resources[id].clone();
        for (time, other) in self.log.iter().enumerate() {
            for &place in &lost {
                let is_since = self.since(id, place).any(|use_of| std::ptr::eq(use_of, other));
                if time as u64 >= self.resources[id].used[place] && is_since {
                    self.receive(id, &mut found, place, other);
                }
            }
        }
        // All losses are determined from the same state, as this resource may be affected by them.
        let losses: Vec<(usize, Vec<Range<u64>>)> = (0..self.resources.len())
            .filter(|&other| other != id)
            .map(|other| (other, lost.iter().map(|&place| self.resources[id].place(place)).collect()))
            .collect();
        for (other, taken) in losses {
            for bytes in taken {
                self.lose(other, id, &bytes);
            }
        }
        self.resources[id].elements = found.elements;
        for place in lost {
            self.log.push(Use { resource: id, bytes: self.resources[id].place(place) });
            self.resources[id].used[place] = self.log.len() as u64;
        }
        // Places that the resource already owned are unchanged, as nothing used them in between.
    }

    /// Returns whether data can be inherited between two resources at all, and whether by subresource (true) or by tile
    /// (false).
    fn can_inherit(&self, from: usize, to: usize) -> Option<bool> {
        let (one, two) = (&self.resources[from], &self.resources[to]);
        if self.is_simple {
            return None;
        }
        match (one.is_buffer(), two.is_buffer()) {
            (true, true) => Some(false),
            (false, false) => {
                if self.is_same(from, to) && (self.is_shared || !one.is_opaque()) {
                    return Some(self.is_shared);
                }
                // Tiles of the same kind match at any position, and layouts that define all bytes match each other.
                let alike = |kind| match kind {
                    Kind::Texture { layout, usage, hidden, .. } => Some((layout, usage, hidden)),
                    Kind::Buffer { .. } => None,
                };
                let is_alike = one.is_tiled() && alike(one.kind) == alike(two.kind);
                (is_alike || (one.is_told() && two.is_told())).then_some(false)
            }
            _ => {
                let texture = if one.is_buffer() { two } else { one };
                texture.is_told().then_some(false)
            }
        }
    }

    /// Returns whether two textures are identical and at the same place.
    fn is_same(&self, one: usize, two: usize) -> bool {
        let (one, two) = (&self.resources[one], &self.resources[two]);
        one.kind == two.kind && one.offset == two.offset
    }

    fn states_allow(&self, (from, from_unit): (usize, usize), (to, to_unit): (usize, usize)) -> bool {
        let (one, two) = (&self.resources[from], &self.resources[to]);
        let state = |resource: &Resource, unit| {
            if resource.is_stateless() {
                D3D12_RESOURCE_STATE_COMMON
            } else {
                resource.states[resource.subresource(unit)].0
            }
        };
        let (one, two) = (state(one, from_unit), state(two, to_unit));
        let both_common = one == D3D12_RESOURCE_STATE_COMMON && two == one;
        let by_subresource = self.can_inherit(from, to) == Some(true);
        let writes = D3D12_RESOURCE_STATE_RENDER_TARGET
            | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
            | D3D12_RESOURCE_STATE_COPY_DEST
            | D3D12_RESOURCE_STATE_RESOLVE_DEST;
        both_common || (by_subresource && one == two && one & writes != 0)
    }

    /// Computes the contents of a place after a conflicting use by another resource.
    fn receive(&self, id: usize, found: &mut Resource, place: usize, other: &Use) {
        let from = &self.resources[other.resource];
        let bytes = found.place(place);
        let granule = self.granule(id, other.resource);
        let common = meet(&bytes, &other.bytes);
        let is_apart = meet(&found.all(), &from.all()).is_empty();
        if self.can_inherit(other.resource, id).is_none() || is_apart {
            let hit = meet(&expand(&other.bytes, granule), &bytes);
            if !hit.is_empty() {
                invalidate(found, &hit, false);
            }
            return;
        }
        if common.is_empty() {
            return;
        }
        if found.is_buffer() {
            // Cell by cell.
            for byte in (common.start..common.end).step_by(CELL as usize) {
                let at = byte - found.offset;
                let unit = (at / KIB_64) as usize;
                let Some(element) = found.elements[unit].get_mut((at % KIB_64 / CELL) as usize) else {
                    continue;
                };
                let there = byte - from.offset;
                let from_unit = (there / KIB_64) as usize;
                *element = if from.is_buffer() {
                    // After its width, a buffer has memory but no contents.
                    let cell = (there % KIB_64 / CELL) as usize;
                    from.elements[from_unit].get(cell).copied().unwrap_or(Element::Invalid)
                } else if from_unit < from.elements.len()
                    && self.states_allow((other.resource, from_unit), (id, unit))
                {
                    match as_one(&from.elements[from_unit]) {
                        // Contents that are only initialised are undefined for a buffer.
                        Element::Discarded | Element::Activated => Element::Invalid,
                        element => element,
                    }
                } else {
                    Element::Invalid
                };
            }
            return;
        }
        let units = if found.is_opaque() { 0..found.elements.len() } else { place..place + 1 };
        for unit in units {
            let Some(elements) = found.elements.get(unit) else { continue };
            let count = elements.len();
            let tile = if found.is_opaque() { bytes.clone() } else { found.place(unit) };
            let is_there = meet(&from.all(), &tile) == tile;
            found.elements[unit] = if from.is_buffer() {
                let there = tile.start.wrapping_sub(from.offset);
                let cells: Vec<Option<Element>> = (0..KIB_64 / CELL)
                    .map(|cell| {
                        let at = there.wrapping_add(cell * CELL);
                        let unit = from.elements.get((at / KIB_64) as usize);
                        let cell = unit.and_then(|unit| unit.get((at % KIB_64 / CELL) as usize));
                        cell.copied()
                    })
                    .collect();
                // After its width, a buffer has memory but no contents.
                let is_short = cells.contains(&None);
                let cells: Vec<Element> = cells.into_iter().flatten().collect();
                let is_mixed = is_short && cells.contains(&Element::Valid);
                let is_there = is_there && !is_mixed && !cells.is_empty();
                let is_allowed = is_there && self.states_allow((other.resource, 0), (id, unit));
                vec![if is_allowed { as_one(&cells) } else { Element::Invalid }; count]
            } else if !self.is_same(other.resource, id) {
                let from_unit = (tile.start.wrapping_sub(from.offset) / KIB_64) as usize;
                match from.elements.get(from_unit) {
                    Some(elements) if self.states_allow((other.resource, from_unit), (id, unit)) => {
                        vec![as_one(elements); count]
                    }
                    _ => vec![Element::Invalid; count],
                }
            } else if self.states_allow((other.resource, unit), (id, unit)) {
                from.elements[unit].clone()
            } else {
                vec![Element::Invalid; count]
            };
        }
    }

    /// Invalidates contents of a resource because of another's use of bytes of the heap.
    fn lose(&mut self, id: usize, by: usize, taken: &Range<u64>) {
        let granule = self.granule(id, by);
        let resource = &self.resources[id];
        let all = resource.all();
        let hit = meet(&expand(taken, granule), &all);
        if hit.is_empty() {
            return;
        }
        // In a state other than COMMON, places that the resource was the last to use are invalidated as one.
        let is_used = (0..self.resources[id].used.len()).any(|place| {
            !meet(&self.resources[id].place(place), &hit).is_empty() && self.is_owner(id, place)
        });
        let is_shared = !meet(&self.resources[by].all(), &all).is_empty();
        if is_shared && self.can_inherit(id, by).is_some() {
            let (units, failed) = self.kept_back(id, by, taken);
            if failed.len() < units {
                // A resource that was not the last user has no contents to give, and loses none.
                for &unit in failed.iter().filter(|_| is_used) {
                    self.resources[id].elements[unit].fill(Element::Invalid);
                }
                return;
            }
            if units == 0 {
                return;
            }
        }
        invalidate(&mut self.resources[id], &hit, is_used);
        if self.is_simple && self.resources[id].was_activated {
            self.resources[id].elements.iter_mut().flatten().for_each(|element| *element = Element::Invalid);
        }
    }

    /// Returns the number of units that share memory with another resource's use, and those that it does not inherit.
    fn kept_back(&self, id: usize, by: usize, taken: &Range<u64>) -> (usize, Vec<usize>) {
        let (from, to) = (&self.resources[id], &self.resources[by]);
        let units: Vec<usize> = (0..from.elements.len())
            .filter(|&unit| from.is_opaque() || !meet(&from.place(unit), taken).is_empty())
            .collect();
        let is_kept = |unit: &usize| {
            let unit = *unit;
            if from.is_opaque() || (from.is_buffer() && to.is_buffer()) {
                return !self.states_allow((id, unit), (by, unit.min(to.elements.len() - 1)));
            }
            let at = meet(&from.place(unit), taken).start - to.offset;
            let to_unit = (at / KIB_64) as usize;
            let is_mixed = !to.is_buffer() && !self.is_same(id, by) && {
                let elements = &from.elements[unit];
                let is_short = from.is_buffer() && elements.len() < (KIB_64 / CELL) as usize;
                elements.contains(&Element::Valid) && (is_short || as_one(elements) == Element::Invalid)
            };
            is_mixed || !self.states_allow((id, unit), (by, to_unit.min(to.elements.len() - 1)))
        };
        (units.len(), units.iter().copied().filter(is_kept).collect())
    }

    /// Checks that the last users of the memory are ordered before this use.
    fn check_order(&mut self, id: usize, lost: &[usize], effect: Effect) {
        if self.is_simple {
            return;
        }
        let mut before = BTreeSet::new();
        for &place in lost {
            let bytes = self.resources[id].place(place);
            let reach = expand(&bytes, KIB_64.max(self.resources[id].granule));
            for cell in (reach.start..reach.end).step_by(256) {
                let last = self.log.iter().rev().find(|used| used.bytes.contains(&cell));
                let Some(last) = last.filter(|last| last.resource != id) else { continue };
                if expand(&bytes, self.granule(id, last.resource)).contains(&cell) {
                    before.insert(last.resource);
                }
            }
        }
        for other in before {
            for agent in 0..4 {
                let Some((submission, step)) = self.resources[other].touches[agent] else { continue };
                if agent != self.agent {
                    if !self.seen[self.agent].contains(&(agent, submission)) {
                        self.order.insert((Rule::B9, id));
                    }
                    continue;
                }
                if submission != self.submission {
                    continue;
                }
                let fits = |barrier: &&(Option<usize>, Option<usize>, usize)| {
                    barrier.0.is_none_or(|before| before == other)
                        && barrier.1.is_none_or(|after| after == id)
                };
                let latest = self.barriers.iter().filter(fits).map(|barrier| barrier.2).max();
                if latest.is_some_and(|latest| latest > step) {
                    continue;
                }
                let is_for_another =
                    self.barriers.iter().any(|barrier| barrier.1 == Some(id) && barrier.2 > step);
                let rule = match effect {
                    Effect::Transition(_) => Rule::B6,
                    _ if is_for_another => Rule::B4,
                    _ if latest.is_some() => Rule::B5,
                    _ => Rule::B1,
                };
                self.order.insert((rule, id));
            }
        }
    }

    /// Applies an access to elements, by unit.
    pub(super) fn access(&mut self, id: usize, parts: &[(usize, Vec<usize>)], effect: Effect) {
        self.step += 1;
        if let Effect::Transition(state) = effect {
            if !self.resources[id].is_stateless() {
                self.take_all(id, effect);
            }
            self.resources[id].states.fill((state, false));
            return;
        }
        let units: BTreeSet<usize> = parts.iter().map(|(unit, _)| *unit).collect();
        self.take(id, &units, effect);
        let mut wrong = BTreeSet::new();
        let resource = &mut self.resources[id];
        // A buffer is one subresource, and so is a texture whose parts are not distinguished.
        let is_all = parts.len() == resource.elements.len()
            && parts.iter().all(|(unit, part)| part.len() == resource.elements[*unit].len());
        let (is_target, is_buffer) = (resource.is_target(), resource.is_buffer());
        if effect == Effect::Discard {
            let state = resource.states[resource.subresource(parts[0].0)].0;
            let wanted = D3D12_RESOURCE_STATE_RENDER_TARGET;
            if !is_target || state != wanted {
                self.order.insert((Rule::I8, id));
            }
        }
        for (unit, elements) in parts {
            let all = &mut resource.elements[*unit];
            let is_whole = elements.len() == all.len();
            let chosen: Vec<Element> = elements.iter().map(|&element| all[element]).collect();
            let uninitialised: BTreeSet<Rule> = chosen
                .iter()
                .filter(|element| is_target && !element.is_initialised())
                .map(|element| match element {
                    Element::Never { .. } => Rule::I4,
                    Element::Activated => Rule::I5,
                    _ => Rule::I3,
                })
                .collect();
            match effect {
                Effect::Discard => all.fill(Element::Discarded),
                Effect::Read => wrong.extend(chosen.iter().filter_map(|element| match element {
                    Element::Valid => None,
                    Element::Discarded => Some(Rule::I8),
                    Element::Never { .. } if is_target => Some(Rule::I4),
                    Element::Activated if is_target => Some(Rule::I5),
                    Element::Never { zeroed: true } => None,
                    _ => Some(Rule::I2),
                })),
                Effect::Copy if is_whole && (!self.is_strict || is_all || !is_buffer) => {
                    all.fill(Element::Valid)
                }
                _ if !uninitialised.is_empty() => wrong.extend(uninitialised),
                _ => {
                    for &element in elements {
                        if !(self.is_strict && all[element] == Element::Invalid) {
                            all[element] = Element::Valid;
                        }
                    }
                }
            }
        }
        if !wrong.is_empty() {
            self.contents.push((wrong, id));
        }
        let resource = &mut self.resources[id];
        resource.touches[self.agent] = Some((self.submission, self.step));
        let state = match effect {
            Effect::Read => D3D12_RESOURCE_STATE_COPY_SOURCE,
            Effect::Write => D3D12_RESOURCE_STATE_RESOLVE_DEST,
            Effect::Copy => D3D12_RESOURCE_STATE_COPY_DEST,
            _ => return,
        };
        if !resource.is_stateless() {
            let subresources: BTreeSet<usize> =
                units.iter().map(|&unit| resource.subresource(unit)).collect();
            for index in subresources {
                if resource.states[index].0 == D3D12_RESOURCE_STATE_COMMON {
                    resource.states[index] = (state, true);
                }
            }
        }
    }

    /// Returns the state of a unit's contents that an access would find.
    pub(super) fn foresee(&self, id: usize, unit: usize) -> Option<&'static str> {
        let mut copy = self.clone();
        copy.take(id, &BTreeSet::from([unit]), Effect::Activate);
        copy.resources[id].summary(unit)
    }
}

/// Returns the state of a whole from the states of its parts.
fn as_one(elements: &[Element]) -> Element {
    if elements.iter().all(|element| element == &elements[0]) {
        return elements[0];
    }
    let worst = elements.iter().copied().max().unwrap_or(Element::Invalid);
    if elements.contains(&Element::Valid) { Element::Invalid } else { worst }
}

/// Invalidates the contents in bytes of the heap.
fn invalidate(resource: &mut Resource, hit: &Range<u64>, is_used: bool) {
    let is_common = resource.states.iter().all(|state| state.0 == D3D12_RESOURCE_STATE_COMMON);
    let units = resource.elements.len();
    let hidden = resource.offset + units as u64 * KIB_64;
    let is_all = resource.is_opaque()
        || (is_used && !(resource.is_stateless() || is_common))
        || (!resource.is_buffer() && hit.end > hidden);
    if resource.is_buffer() {
        // Granules are those of the heap, and a tightly aligned buffer may begin anywhere in them.
        let (start, offset) = (hit.start.max(resource.offset), resource.offset);
        for at in (start..hit.end).step_by(CELL as usize).map(|byte| byte - offset) {
            let unit = resource.elements.get_mut((at / KIB_64) as usize);
            if let Some(element) = unit.and_then(|unit| unit.get_mut((at % KIB_64 / CELL) as usize)) {
                *element = Element::Invalid;
            }
        }
        return;
    }
    for unit in 0..units {
        if is_all || !meet(&resource.place(unit), hit).is_empty() {
            resource.elements[unit].fill(Element::Invalid);
        }
    }
}
