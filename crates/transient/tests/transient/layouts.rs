//! Follows the state or layout of each resource through the barriers and commands of lists, in the order of recording,
//! which in these tests is the order of execution. The runtime checks barriers one by one, but not whether they fit
//! together. Between resources that share memory, the aliasing tracker checks accesses. Barriers count here, too: what
//! changes a layout behind the last use must have ended before the memory is used again.

use std::collections::HashMap;

use heapwright::d3d12::*;

/// Synchronization scope, access, and whether commands with this access order their writes themselves.
type Access = (D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS, bool);

/// Returns the access of a command that uses a resource in a state, with enhanced barriers.
fn access(state: D3D12_RESOURCE_STATES) -> Access {
    match state {
        D3D12_RESOURCE_STATE_COPY_DEST => (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_DEST, false),
        D3D12_RESOURCE_STATE_COPY_SOURCE => (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_SOURCE, true),
        D3D12_RESOURCE_STATE_UNORDERED_ACCESS => {
            (D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW, D3D12_BARRIER_ACCESS_UNORDERED_ACCESS, false)
        }
        D3D12_RESOURCE_STATE_RENDER_TARGET => {
            (D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET, true)
        }
        D3D12_RESOURCE_STATE_DEPTH_WRITE => {
            (D3D12_BARRIER_SYNC_DEPTH_STENCIL, D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE, true)
        }
        other => panic!("no test uses state {other:#x}"),
    }
}

/// Returns the synchronization scope of a command that uses a resource in a state.
pub(crate) fn scope(state: D3D12_RESOURCE_STATES) -> D3D12_BARRIER_SYNC {
    access(state).0
}

fn writes(access: D3D12_BARRIER_ACCESS) -> bool {
    access != D3D12_BARRIER_ACCESS_COPY_SOURCE
}

/// Layouts that allow a use in a state.
fn layouts(state: D3D12_RESOURCE_STATES) -> &'static [D3D12_BARRIER_LAYOUT] {
    match state {
        D3D12_RESOURCE_STATE_COPY_DEST => &[
            D3D12_BARRIER_LAYOUT_COMMON,
            D3D12_BARRIER_LAYOUT_COPY_DEST,
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_DEST,
        ],
        D3D12_RESOURCE_STATE_COPY_SOURCE => &[
            D3D12_BARRIER_LAYOUT_COMMON,
            D3D12_BARRIER_LAYOUT_COPY_SOURCE,
            D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_SOURCE,
        ],
        D3D12_RESOURCE_STATE_UNORDERED_ACCESS => {
            &[D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS, D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS]
        }
        D3D12_RESOURCE_STATE_RENDER_TARGET => &[D3D12_BARRIER_LAYOUT_RENDER_TARGET],
        D3D12_RESOURCE_STATE_DEPTH_WRITE => &[D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE],
        other => panic!("no test uses state {other:#x}"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    State(D3D12_RESOURCE_STATES),
    Texture(D3D12_BARRIER_LAYOUT),
    Buffer,
}

/// A placed resource.
#[derive(Debug)]
struct Known {
    layout: Layout,
    /// A buffer or a texture with simultaneous access, whose state becomes COMMON at the end of each submission.
    decays: bool,
    /// The submission that used it last.
    submission: usize,
    /// Scopes of the last barrier of the submission, if there is one, and of uses since.
    scopes: D3D12_BARRIER_SYNC,
    has_barrier: bool,
    /// The access of the last use of the submission, if no barrier came after it.
    last_use: Option<D3D12_BARRIER_ACCESS>,
    /// Those of `scopes` that no global barrier has waited for.
    pending: D3D12_BARRIER_SYNC,
    /// Whether a barrier of the submission changed the layout, and no use came after it.
    is_changed: bool,
    /// The resources that had the memory before.
    predecessors: Vec<usize>,
}

/// One side of an enhanced barrier, and the other.
pub(crate) type Sides = [(D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS); 2];

#[derive(Debug, Default)]
pub(crate) struct Layouts {
    resources: HashMap<usize, Known>,
    submission: usize,
    is_copy_queue: bool,
    pub(crate) mistakes: Vec<String>,
    /// The number of texture barriers.
    pub(crate) textures: usize,
}

impl Layouts {
    pub(crate) fn created(&mut self, resource: usize, layout: Layout, decays: bool) {
        let known = Known {
            layout,
            decays,
            submission: usize::MAX,
            scopes: 0,
            has_barrier: false,
            last_use: None,
            pending: 0,
            is_changed: false,
            predecessors: Vec::new(),
        };
        self.resources.insert(resource, known);
    }

    /// Tells of the resources that had a resource's memory before it.
    pub(crate) fn takes_over(&mut self, resource: usize, predecessors: Vec<usize>) {
        if let Some(known) = self.resources.get_mut(&resource) {
            known.predecessors = predecessors;
        }
    }

    /// Forgets a resource at whose address there is another one now.
    pub(crate) fn forget(&mut self, resource: usize) {
        self.resources.remove(&resource);
    }

    /// Ends the last submission. Some states, and all states on copy queues, decay.
    pub(crate) fn begin_submission(&mut self, kind: D3D12_COMMAND_LIST_TYPE) {
        for known in self.resources.values_mut() {
            let is_touched = known.submission == self.submission;
            if matches!(known.layout, Layout::State(_)) && is_touched && (known.decays || self.is_copy_queue)
            {
                known.layout = Layout::State(D3D12_RESOURCE_STATE_COMMON);
            }
        }
        self.submission += 1;
        self.is_copy_queue = kind == D3D12_COMMAND_LIST_TYPE_COPY;
    }

    /// Calls `act` with a resource, of which nothing is known from earlier submissions but its layout. What `act`
    /// returns is a mistake.
    fn touch(&mut self, resource: usize, act: impl FnOnce(&mut Known) -> Option<String>) {
        let submission = self.submission;
        let Some(known) = self.resources.get_mut(&resource) else { return };
        if known.submission != submission {
            (known.submission, known.scopes, known.has_barrier, known.last_use) =
                (submission, 0, false, None);
            (known.pending, known.is_changed) = (0, false);
        }
        let mistake = act(known);
        self.mistakes
            .extend(mistake.map(|mistake| format!("submission {submission}, {known:x?}: {mistake}")));
        let known = &self.resources[&resource];
        let mut before = known.predecessors.iter().filter_map(|before| self.resources.get(before));
        let owner = before.find(|before| before.submission == submission && before.pending != 0);
        self.mistakes.extend(owner.map(|before| {
            format!("submission {submission}, {known:x?}: its memory is still in use by {before:x?}")
        }));
    }

    /// A global barrier.
    pub(crate) fn global(&mut self, before: D3D12_BARRIER_SYNC) {
        let waited = if before & D3D12_BARRIER_SYNC_ALL == 0 { before } else { !0 };
        self.resources.values_mut().for_each(|known| known.pending &= !waited);
    }

    /// A barrier that discards.
    pub(crate) fn discarded(&mut self, resource: usize) {
        let Some(known) = self.resources.get(&resource) else { return };
        let mut before = known.predecessors.iter().filter_map(|before| self.resources.get(before));
        let changed = before.find(|before| before.submission == self.submission && before.is_changed);
        self.mistakes.extend(
            changed
                .map(|before| format!("a barrier discards {known:x?} behind one that changes {before:x?}")),
        );
    }

    pub(crate) fn transition(
        &mut self,
        resource: usize,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        let is_copy_queue = self.is_copy_queue;
        self.touch(resource, |known| {
            let found = std::mem::replace(&mut known.layout, Layout::State(after));
            let is_first = !std::mem::replace(&mut known.has_barrier, true);
            if is_copy_queue && is_first && found != Layout::State(D3D12_RESOURCE_STATE_COMMON) {
                return Some(format!("a copy queue finds {found:x?}"));
            }
            (found != Layout::State(before))
                .then(|| format!("a transition from {before:#x} finds {found:x?}"))
        });
    }

    /// A texture or buffer barrier; `layouts` is `None` for buffers.
    pub(crate) fn barrier(
        &mut self,
        resource: usize,
        [before, after]: Sides,
        layouts: Option<[D3D12_BARRIER_LAYOUT; 2]>,
    ) {
        self.textures += usize::from(layouts.is_some());
        self.touch(resource, |known| {
            let found = known.layout;
            let is_unused = known.scopes == 0;
            let (scopes, last) = (std::mem::replace(&mut known.scopes, after.0), known.last_use.take());
            (known.has_barrier, known.pending) = (true, after.0);
            if let Some([before, after]) = layouts {
                known.layout = Layout::Texture(after);
                known.is_changed = before != after;
            }
            let is_left = layouts.is_some_and(|[before, _]| {
                before != D3D12_BARRIER_LAYOUT_UNDEFINED && found != Layout::Texture(before)
            });
            let all = D3D12_BARRIER_SYNC_ALL;
            if is_left {
                Some(format!("a barrier from {layouts:?}"))
            } else if before.0 == D3D12_BARRIER_SYNC_NONE && !is_unused {
                Some("SyncBefore NONE behind a use".to_owned())
            } else if before.0 & all == 0 && scopes & !before.0 != 0 {
                Some(format!("SyncBefore {:#x} does not wait for {scopes:#x}", before.0))
            } else if last.is_some_and(|last| writes(last) && before.1 & last == 0) {
                Some(format!("AccessBefore {:#x} does not flush {last:#x?}", before.1))
            } else {
                None
            }
        });
    }

    /// A command that uses a resource as a state allows.
    pub(crate) fn used(&mut self, resource: usize, state: D3D12_RESOURCE_STATES) {
        self.touch(resource, |known| match known.layout {
            Layout::State(now) => {
                // The use promotes it.
                if known.decays && now == D3D12_RESOURCE_STATE_COMMON {
                    known.layout = Layout::State(state);
                    return None;
                }
                (now & state == 0).then(|| format!("a use in state {state:#x}"))
            }
            now => {
                let (sync, access, is_ordered) = access(state);
                let (last, all) = (known.last_use.replace(access), D3D12_BARRIER_SYNC_ALL);
                let is_blocked = !known.has_barrier || (known.scopes & (sync | all) != 0);
                let is_hazard = last
                    .is_some_and(|last| (writes(last) || writes(access)) && !(is_ordered && last == access));
                known.scopes |= sync;
                known.pending |= sync;
                known.is_changed = false;
                match now {
                    Layout::Texture(now) if !known.decays && !layouts(state).contains(&now) => {
                        Some(format!("a use in state {state:#x}"))
                    }
                    _ if !is_blocked => Some(format!("a use in state {state:#x}, which no barrier blocked")),
                    _ if is_hazard => {
                        Some(format!("a use in state {state:#x} without a barrier behind the last one"))
                    }
                    _ => None,
                }
            }
        });
    }
}
