//! Selection of the heap type for `--heap-type`.

use heapwright::HeapType;

use super::args::HeapTypeArg;

/// The heap type is not supported by the device or not compatible with the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeapTypeRefused {
    #[error(
        "--verify requires a heap type that can be mapped, but --heap-type is default; use auto, upload, readback or \
         gpu-upload"
    )]
    NotMappable,
    #[error("--heap-type gpu-upload: the device does not support GPU upload heaps")]
    NoGpuUploadHeaps,
}

/// Returns the heap type for the requested value of `--heap-type`.
pub(super) fn choose(
    requested: HeapTypeArg,
    verify: bool,
    has_gpu_upload_heaps: bool,
) -> Result<HeapType, HeapTypeRefused> {
    match requested {
        HeapTypeArg::Auto if !verify => Ok(HeapType::Default),
        HeapTypeArg::Auto if has_gpu_upload_heaps => Ok(HeapType::GpuUpload),
        HeapTypeArg::Auto => Ok(HeapType::Upload),
        HeapTypeArg::Default if verify => Err(HeapTypeRefused::NotMappable),
        HeapTypeArg::Default => Ok(HeapType::Default),
        HeapTypeArg::Upload => Ok(HeapType::Upload),
        HeapTypeArg::Readback => Ok(HeapType::Readback),
        HeapTypeArg::GpuUpload if has_gpu_upload_heaps => Ok(HeapType::GpuUpload),
        HeapTypeArg::GpuUpload => Err(HeapTypeRefused::NoGpuUploadHeaps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_default_unless_verify_needs_the_cpu() {
        assert_eq!(choose(HeapTypeArg::Auto, false, true), Ok(HeapType::Default));
        assert_eq!(choose(HeapTypeArg::Auto, true, true), Ok(HeapType::GpuUpload));
        assert_eq!(choose(HeapTypeArg::Auto, true, false), Ok(HeapType::Upload));
    }

    #[test]
    fn unsupported_heap_types_are_errors() {
        assert_eq!(choose(HeapTypeArg::Default, true, true), Err(HeapTypeRefused::NotMappable));
        assert_eq!(choose(HeapTypeArg::GpuUpload, false, false), Err(HeapTypeRefused::NoGpuUploadHeaps));
    }

    #[test]
    fn explicit_heap_types_are_kept() {
        for verify in [false, true] {
            assert_eq!(choose(HeapTypeArg::Upload, verify, false), Ok(HeapType::Upload));
            assert_eq!(choose(HeapTypeArg::Readback, verify, false), Ok(HeapType::Readback));
            assert_eq!(choose(HeapTypeArg::GpuUpload, verify, true), Ok(HeapType::GpuUpload));
        }
        assert_eq!(choose(HeapTypeArg::Default, false, false), Ok(HeapType::Default));
    }
}
