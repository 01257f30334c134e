//! The rules that the tracker knows, by their ids.

use std::fmt;

macro_rules! rules {
    (
        $($(#[$doc:meta])* $rule:ident $id:literal: $sentence:literal;)*
    ) => {
        /// A rule of aliasing and data inheritance. [`id`](Self::id) is how messages name it.
        ///
        /// The ids group the rules of document ALIAS and its relatives (references of `CreatePlacedResource`,
        /// `D3D12_RESOURCE_ALIASING_BARRIER` and `DiscardResource`; DirectX-Specs, *Enhanced Barriers*): **G** placement and granularity,
        /// **I** invalidation and contents, **B** legacy aliasing barriers, **H** data inheritance, **E** enhanced barriers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// The id: `I-2`.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$rule => $id,)*
                }
            }

            /// The rule in words, for messages.
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
    /// Resources in one granule conflict without a byte in common: the larger granularity decides.
    G8 "G-8": "they share a granule, of which the larger granularity decides";
    /// What is overlapped is invalid in whole 64 KiB.
    G9 "G-9": "what is overlapped in part is invalid in whole 64 KiB";
    /// Accessing a resource invalidates what overlaps it.
    I1 "I-1": "accessing a resource invalidates what overlaps it";
    /// What is invalid is not read.
    I2 "I-2": "invalid contents are undefined";
    /// An invalid render target or depth stencil becomes valid by a clear or a copy of a whole unit.
    I3 "I-3": "only a clear, a discard or a copy of a whole subresource or tile makes an invalid one usable";
    /// A placed or reserved render target or depth stencil is cleared, discarded or copied to before anything else.
    I4 "I-4": "a clear, a discard or a copy of a whole subresource or tile must come first";
    /// It is initialised after the barrier that activates it.
    I5 "I-5": "it must be initialised after the barrier that activates it";
    /// Tiles are initialised one by one where the layout has 64 KiB tiles alone.
    I6 "I-6": "tiles are initialised one by one in the 64 KiB tile layouts alone";
    /// Each subresource and each plane is initialised by itself.
    I7 "I-7": "each subresource and plane is initialised by itself";
    /// A discard wants the right state and leaves contents undefined.
    I8 "I-8": "a discard needs the state of its kind and leaves contents undefined";
    /// Of an undefined layout, or in a state other than COMMON, all of a resource is invalidated at once. Document ALIAS asks for
    /// "certain transition barrier states" and names none: COMMON is our choice.
    I9 "I-9": "an undefined layout, or a state other than COMMON, invalidates all of a resource at once";
    /// Memory behind the last tile or row belongs to the whole resource.
    I11 "I-11": "memory behind the last tile or row belongs to the whole resource";
    /// A placed resource begins inactive.
    I12 "I-12": "a placed resource begins inactive";
    /// At most one of several overlapping resources is active.
    I13 "I-13": "at most one of several overlapping resources is active";
    /// A tile that is mapped anew is not initialised.
    I14 "I-14": "a tile that is mapped anew is not initialised";
    /// An aliasing barrier stands between accesses of overlapping resources in one submission.
    B1 "B-1": "an aliasing barrier must stand between them in one ExecuteCommandLists";
    /// In the simple model an aliasing barrier names the resource that becomes active.
    B3 "B-3": "in the simple model an aliasing barrier names the resource that becomes active";
    /// A barrier with two resources is for these two.
    B4 "B-4": "an aliasing barrier with two resources is for these two alone";
    /// The barrier comes after the last access of the resource before it.
    B5 "B-5": "the aliasing barrier must come after the last access of the resource before it";
    /// Barriers are applied in their order: a transition after the one that activates.
    B6 "B-6": "a transition comes after the barrier that activates the resource";
    /// Barriers cost time.
    B8 "B-8": "a barrier costs time";
    /// Accesses on several queues are ordered by fences.
    B9 "B-9": "accesses on several queues must be ordered by fences";
    /// Identical textures inherit in a heap with the SHARED flag.
    H1 "H-1": "textures inherit when identical, at the same place, in a heap with D3D12_HEAP_FLAG_SHARED";
    /// Without it, defined layouts do.
    H2 "H-2": "without D3D12_HEAP_FLAG_SHARED only defined layouts inherit";
    /// Per tile, state COMMON is wanted on both sides.
    H5 "H-5": "per tile, both must be in state COMMON";
    /// States of subresources are COMMON, or the same one that the GPU writes in.
    H6 "H-6": "states must both be COMMON, or the same one that the GPU writes in";
    /// Buffers share bytes with standard swizzle textures, and with no other swizzle.
    H7 "H-7": "a buffer shares bytes with standard swizzle alone, where StandardSwizzle64KBSupported is";
    /// The barrier is needed though data is inherited.
    H9 "H-9": "the barrier is needed though data is inherited";
    /// Barriers wait for the one resource and hold the other back.
    E1 "E-1": "barriers must wait for the one resource and then hold the other back";
    /// A layout that may be compressed is initialised after UNDEFINED.
    E3 "E-3": "after LayoutBefore UNDEFINED a layout that may be compressed must be initialised";
    /// Nothing accesses after NO_ACCESS.
    E4 "E-4": "nothing may access after AccessAfter NO_ACCESS until a barrier from NO_ACCESS";
    /// DISCARD stands apart from barriers that flush or change a layout of what it overlaps.
    E5 "E-5": "DISCARD must not stand beside a barrier of what it overlaps that flushes or changes a layout";
    /// The barriers of one call have no order.
    E6 "E-6": "the barriers of one call have no order";
    /// SYNC_NONE means that nothing came before, or comes after.
    E7 "E-7": "SYNC_NONE says that nothing came before, or comes after, in the ExecuteCommandLists";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
