//! Devices that are wrong about formats of video.

use heapwright_d3d12::*;

use super::{is_valid, wrong_devices};

wrong_devices! {
    "FORMAT_SUPPORT is E_FAIL for formats of video": feature = |feature, answer| {
        if feature == D3D12_FEATURE_FORMAT_SUPPORT {
            answer.hresult = E_FAIL;
        }
    } => "video/required-of-feature-level-12";
    "P010 is no texture, and textures of it are created": feature = |feature, answer| {
        if feature == D3D12_FEATURE_FORMAT_SUPPORT && answer.fields[0] == DXGI_FORMAT_P010.cast_unsigned() {
            answer.fields[1] = 0;
        }
    } => "video/optional-formats-are-what-they-say";
    "NV12 has one plane": feature = |feature, answer| {
        if feature == D3D12_FEATURE_FORMAT_INFO {
            answer.fields[1] = 1;
        }
    } => "video/plane-counts";
    "chroma lies over luma": footprints = |layouts, _| {
        if let [luma, chroma] = layouts {
            chroma.Offset = luma.Offset;
        }
    } => "video/footprints-of-planes", "video/planes-are-copied-alone";
    "chroma takes no memory": allocation = |descs, info| {
        if let [desc] = descs
            && desc.Format == DXGI_FORMAT_NV12
            && is_valid(info)
        {
            info.SizeInBytes = desc.Width * u64::from(desc.Height);
        }
    } => "video/size-of-planes";
    "NV12 of odd sizes is created, one texel larger": resource = |request| {
        if request.desc.Format == DXGI_FORMAT_NV12 {
            request.desc.Width = request.desc.Width.next_multiple_of(2);
        }
    } => "video/odd-sizes-refused";
}
