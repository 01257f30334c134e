//! The rules that the tracker checks, by id.

use std::fmt;

macro_rules! rules {
    (
        $($(#[$doc:meta])* $rule:ident $id:literal: $sentence:literal;)*
    ) => {
        /// A rule of aliasing and data inheritance. Messages refer to it by [`id`](Self::id).
        ///
        /// The ids group the rules of Microsoft's *Memory Aliasing and Data Inheritance* and related documents
        /// (references of `CreatePlacedResource`, `D3D12_RESOURCE_ALIASING_BARRIER` and `DiscardResource`;
        /// DirectX-Specs, *Enhanced Barriers*): **G** placement and granularity, **I** invalidation and contents, **B**
        /// legacy aliasing barriers, **H** data inheritance, **E** enhanced barriers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// Returns the id, such as `I-2`.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$rule => $id,)*
                }
            }

            /// Returns the rule as a sentence, for messages.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$rule => $sentence,)*
                }
            }
        }
    };
}

rules! {
    /// Resources in the same granule conflict even without common bytes; the larger granularity applies.
    G8 "G-8": "resources in the same granule conflict; the larger granularity applies";
    /// Overlapped contents are invalidated in whole 64 KiB.
    G9 "G-9": "partially overlapped contents are invalidated in whole 64 KiB blocks";
    /// Accessing a resource invalidates overlapping resources.
    I1 "I-1": "accessing a resource invalidates overlapping resources";
    /// Invalid contents must not be read.
    I2 "I-2": "invalid contents are undefined";
    /// An invalid render target or depth-stencil becomes valid by a clear or a copy of a whole unit.
    I3 "I-3": "only a clear, a discard or a copy of a whole subresource or tile makes invalid contents usable";
    /// A placed or reserved render target or depth-stencil must be cleared, discarded or copied to before any other
    /// use.
    I4 "I-4": "the first use must be a clear, a discard or a copy of a whole subresource or tile";
    /// A resource must be initialised after the barrier that activates it.
    I5 "I-5": "a resource must be initialised after the barrier that activates it";
    /// Tiles are initialised individually only in layouts with 64 KiB tiles.
    I6 "I-6": "tiles are initialised individually only in layouts with 64 KiB tiles";
    /// Each subresource and each plane is initialised individually.
    I7 "I-7": "each subresource and each plane is initialised individually";
    /// A discard requires the correct state and leaves contents undefined.
    I8 "I-8": "a discard needs the matching resource state and leaves contents undefined";
    /// With an undefined layout, or in a state other than COMMON, a resource is invalidated as a whole. *Memory
    /// Aliasing and Data Inheritance* requires "certain transition barrier states" without naming them; COMMON is our
    /// choice.
    I9 "I-9": "with an undefined layout, or in a state other than COMMON, a resource is invalidated as a whole";
    /// Memory after the last tile or row belongs to the whole resource.
    I11 "I-11": "memory after the last tile or row belongs to the whole resource";
    /// A placed resource is initially inactive.
    I12 "I-12": "a placed resource is initially inactive";
    /// At most one of several overlapping resources is active.
    I13 "I-13": "at most one of several overlapping resources is active";
    /// A tile is uninitialised after it is mapped.
    I14 "I-14": "a tile is uninitialised after it is mapped";
    /// An aliasing barrier is required between accesses to overlapping resources in one submission.
    B1 "B-1": "an aliasing barrier is required between accesses to overlapping resources in one ExecuteCommandLists";
    /// In the simple model, an aliasing barrier names the resource that becomes active.
    B3 "B-3": "in the simple model, pResourceAfter must name the resource that becomes active";
    /// A barrier with two resources applies only to these two.
    B4 "B-4": "an aliasing barrier with two resources applies only to these two";
    /// The barrier must follow the last access to the resource before it.
    B5 "B-5": "the aliasing barrier must follow the last access to the previous resource";
    /// Barriers are applied in order: a transition must follow the barrier that activates the resource.
    B6 "B-6": "a transition must follow the barrier that activates the resource";
    /// Barriers have a cost.
    B8 "B-8": "barriers cost GPU time";
    /// Accesses on different queues must be ordered by fences.
    B9 "B-9": "accesses on different queues must be ordered by fences";
    /// Identical textures inherit data in a heap with the SHARED flag.
    H1 "H-1":
        "textures inherit data only if they are identical, at the same offset, in a heap with D3D12_HEAP_FLAG_SHARED";
    /// Without the SHARED flag, only defined layouts inherit data.
    H2 "H-2": "without D3D12_HEAP_FLAG_SHARED, only defined layouts inherit data";
    /// Data is inherited per tile only if both resources are in state COMMON.
    H5 "H-5": "data is inherited per tile only if both resources are in state COMMON";
    /// Subresources inherit data if both states are COMMON, or the same state in which the GPU writes.
    H6 "H-6": "both resources must be in state COMMON, or both in the same write state";
    /// Buffers share bytes with standard swizzle textures, and with no other swizzle.
    H7 "H-7": "buffers share data only with standard swizzle textures, if StandardSwizzle64KBSupported is TRUE";
    /// The barrier is required even if data is inherited.
    H9 "H-9": "the barrier is required even if data is inherited";
    /// Barriers must wait for the one resource and block the other.
    E1 "E-1": "barriers must wait for accesses to one resource before accesses to the other begin";
    /// After UNDEFINED, a layout that may be compressed must be initialised.
    E3 "E-3": "after LayoutBefore UNDEFINED, a resource in a layout that allows compression must be initialised";
    /// No access may follow NO_ACCESS.
    E4 "E-4": "after AccessAfter NO_ACCESS, no access is allowed until a barrier with AccessBefore NO_ACCESS";
    /// DISCARD must not be combined with barriers of overlapping resources that flush or change a layout.
    E5 "E-5": "DISCARD must not be combined with a barrier of an overlapping resource that flushes or changes a layout";
    /// The barriers of one call are unordered.
    E6 "E-6": "the barriers of one call are unordered";
    /// SYNC_NONE means that no access precedes, or that none follows.
    E7 "E-7": "SYNC_NONE means that no access precedes, or none follows, in the ExecuteCommandLists";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
