//! Device options that change rules.

/// Options of a device that change rules. The default follows the D3D12 documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Options {
    /// Treats a non-zero `Alignment` combined with the tight alignment flag as a floor instead of an error.
    ///
    /// Headers since SDK 1.619.4 define it so: the value is a power of two of at most the largest alignment of the kind
    /// of resource, and the driver may raise it. The tight alignment specification forbids the combination.
    pub(crate) alignment_is_floor: bool,
    /// Whether a tool tracks writes: `ManualWriteTrackingResourceSupported` of OPTIONS17 (GPU upload heaps
    /// specification).
    pub(crate) manual_write_tracking: bool,
}
