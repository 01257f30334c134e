//! Devices that hide features, interfaces or both.

use heapwright_runtime::HostProfile;

use super::everyday_use::use_everything;
use super::first_generation::mistakes;
use super::watched_device::{Hides, watch};
use crate::gpu::*;

const ALL: [Hides; 4] = [Hides::NOTHING, Hides::FEATURES, Hides::FEATURES_AND_LEAVES_JUNK, Hides::EVERYTHING];

#[test]
fn nothing_is_asked_for_that_was_not_advertised() {
    let profiles = HostProfile::all().iter().filter(|profile| !profile.is_first_generation);
    for (number, profile) in profiles.enumerate() {
        // Each profile hides nothing, and one of the others in turn.
        for hides in [ALL[0], ALL[1 + number % 3]] {
            let gpu = open(profile.name);
            let watched = watch(&gpu.device, hides);
            let made = use_everything(&gpu.device, None);
            assert_eq!(watched.mistakes(), Vec::<String>::new(), "{} {hides:?}", profile.name);
            assert_eq!(mistakes(&gpu), Vec::<String>::new(), "{} {hides:?}", profile.name);
            assert_eq!(usage(&gpu), ByteSize::ZERO, "{} {hides:?}", profile.name);
            assert!(made > 2000 && watched.creations() > 500, "{made}, {}", watched.creations());
        }
    }
}

#[test]
fn interfaces_and_features_are_asked_for_when_an_allocator_is_made_and_never_again() {
    for hides in ALL {
        let gpu = open("discrete");
        let watched = watch(&gpu.device, hides);
        let allocator = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("sound");
        let asked = watched.questions();
        assert!(asked > 12, "{asked}: numbered interfaces and features");
        let resource = ResourceDesc::new(&buffer_of(1000));
        let held: Vec<_> = [HeapType::Default, HeapType::Upload, HeapType::Readback]
            .map(|heap_type| allocator.create(&place(heap_type, NONE), resource).expect("there is room"))
            .into();
        // SAFETY: neither allocation of the resource is mapped.
        let imported =
            unsafe { allocator.import(&Default::default(), held[0].resource()) }.expect("of this device");
        let pool = new_pool(&allocator, Default::default());
        drop(allocator.report());
        drop((held, imported, pool));
        allocator.release_empty_heaps();
        assert_eq!(watched.questions(), asked, "{hides:?}");
    }
}

#[test]
fn a_feature_that_is_not_answered_is_absent_whatever_is_left_in_its_structure() {
    for (profile, hides) in
        [("discrete", Hides::FEATURES), ("uma", Hides::FEATURES_AND_LEAVES_JUNK), ("uma", Hides::EVERYTHING)]
    {
        let gpu = open(profile);
        let honest = DeviceCaps::query(&gpu.device).expect("answered");
        let _watched = watch(&gpu.device, hides);
        let caps = DeviceCaps::query(&gpu.device).expect("answered");
        assert_eq!((caps.tight_alignment_tier, caps.gpu_upload_heaps), (0, false));
        assert!(!caps.enhanced_barriers && !caps.relaxed_format_casting);
        assert_eq!(caps.architecture, honest.architecture);
        assert_eq!(caps.gpu_va_bits_per_process, honest.gpu_va_bits_per_process);
        assert_eq!(caps.buffer_alignment.get(), 64 * KIB);
        assert_eq!(caps.interface_version, if hides == Hides::EVERYTHING { 0 } else { 14 });
    }
}

/// The interface alone is not enough: layouts and castable formats have features of their own.
#[test]
fn layouts_and_castable_formats_need_their_features() {
    let formats = [DXGI_FORMAT_R8G8B8A8_UNORM_SRGB];
    let layout = InitialState::Layout(D3D12_BARRIER_LAYOUT_COMMON);
    let in_layout = ResourceDesc { initial_state: layout, ..ResourceDesc::new(&texture(64, 64)) };
    let castable = ResourceDesc { castable_formats: &formats, ..in_layout };
    for (hides, has) in [(Hides::NOTHING, true), (Hides::FEATURES, false)] {
        let gpu = open("discrete");
        let watched = watch(&gpu.device, hides);
        let allocator = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("sound");
        for (resource, needs) in
            [(in_layout, "EnhancedBarriersSupported"), (castable, "RelaxedFormatCastingSupported")]
        {
            let made = allocator.create(&in_default(), resource);
            assert_eq!(made.is_ok(), has, "{made:?}");
            if !has {
                assert!(fails(made, needs).is_unsupported());
            }
        }
        assert_eq!(watched.mistakes(), Vec::<String>::new());
    }
}

/// Address widths of zero bits carry no information, so no request is refused because of them.
#[test]
fn bits_of_zero_are_no_answer() {
    let gpu = open("discrete");
    let _watched = watch(&gpu.device, Hides::ADDRESS_BITS);
    let allocator = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("sound");
    drop(local(&allocator, 100 * MIB));
    let error = try_buffer(&allocator, &in_default(), 1 << 60).expect_err("too large");
    assert!(error.is_invalid_argument() || error.is_out_of_memory(), "{error}");
}
