//! Which heap type `--heap-type` stands for.

use heapwright::HeapType;

use crate::args::HeapTypeArg;

/// The heap type cannot do what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeapTypeRefused {
    #[error(
        "--verify writes through Map, which --heap-type default does not allow; \
         use upload, readback or gpu-upload, or leave --heap-type out"
    )]
    NotMappable,
    #[error("--heap-type gpu-upload: the device has no GPU upload heaps")]
    NoGpuUploadHeaps,
}

/// What `asked` means on a device that has GPU upload heaps, or not.
pub(super) fn choose(
    asked: HeapTypeArg,
    verify: bool,
    has_gpu_upload_heaps: bool,
) -> Result<HeapType, HeapTypeRefused> {
    match asked {
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
    fn what_cannot_work_is_refused() {
        assert_eq!(choose(HeapTypeArg::Default, true, true), Err(HeapTypeRefused::NotMappable));
        assert_eq!(choose(HeapTypeArg::GpuUpload, false, false), Err(HeapTypeRefused::NoGpuUploadHeaps));
    }

    #[test]
    fn what_is_named_is_taken() {
        for verify in [false, true] {
            assert_eq!(choose(HeapTypeArg::Upload, verify, false), Ok(HeapType::Upload));
            assert_eq!(choose(HeapTypeArg::Readback, verify, false), Ok(HeapType::Readback));
            assert_eq!(choose(HeapTypeArg::GpuUpload, verify, true), Ok(HeapType::GpuUpload));
        }
        assert_eq!(choose(HeapTypeArg::Default, false, false), Ok(HeapType::Default));
    }
}
