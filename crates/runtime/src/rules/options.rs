//! What a device can be told to do differently.

/// Options of a device that change rules. The default is D3D12 as the documents have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Options {
    /// A non-zero `Alignment` beside the tight alignment flag is a floor and no error.
    ///
    /// Later headers (SDK 1.619.4 on) have it so: a power of two, at most the largest of its kind of resource, that the
    /// driver may raise. Document TIGHT refuses it.
    pub(crate) alignment_is_floor: bool,
    /// A tool tracks writes: `ManualWriteTrackingResourceSupported` of OPTIONS17 (document UPLOAD).
    pub(crate) manual_write_tracking: bool,
}
