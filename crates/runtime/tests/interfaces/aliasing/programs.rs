//! The text of a violation, and the interface of the tracker. The rules are conformance's checks `aliasing/*`.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;
use heapwright_runtime::aliasing::{AliasingTracking, Rule, Severity};
use windows_core::Interface;

use super::world::{KIB_64, World, texture_desc};

const NONE: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_NONE;
const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;

#[test]
fn a_texture_loses_all_to_a_buffer_and_says_to_which() {
    let world = World::new(AliasingTracking::ADVANCED);
    let heap = world.heap(1 << 20, NONE);
    let texture = world.place(&heap, 0, &texture_desc(2, 1, D3D12_RESOURCE_FLAG_NONE), COMMON, "texture");
    let buffer = world.buffer(&heap, 0, KIB_64, "buffer");
    world.copy_texture(&texture, 0, false);
    world.copy_texture(&texture, 1, false);
    assert_eq!(world.rules(), []);
    world.copy_texture(&texture, 0, true);
    assert_eq!(world.rules(), []);
    world.read(&buffer, 0, 16);
    // Bytes written by a texture are undefined for a buffer.
    assert_eq!(world.rules(), [(Rule::I2, Some(Rule::H2))]);
    world.copy_texture(&texture, 1, true);
    let found = world.run();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].rule, found[0].because), (Rule::I2, Some(Rule::I9)));
    assert_eq!(found[0].severity, Severity::Error);
    let text = found[0].to_string();
    for word in [
        "I-2",
        "I-9",
        "'texture'",
        "'buffer'",
        "list 0, call 0",
        "CopyTextureRegion",
        "heap 1",
        "bytes 0x0 to 0x80000",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert_eq!(found[0].unit, Some(1));
}

#[test]
fn an_immediate_write_is_one_of_the_buffer_that_used_the_address_last() {
    let world = World::new(AliasingTracking::ADVANCED);
    let heap = world.heap(1 << 20, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED);
    let buffer = world.buffer(&heap, KIB_64, KIB_64, "buffer");
    world.write(&buffer, 0, 4);
    world.run();
    let address = unsafe { buffer.GetGPUVirtualAddress() };
    let write =
        D3D12_WRITEBUFFERIMMEDIATE_PARAMETER { Dest: D3D12_GPU_VIRTUAL_ADDRESS(address.0 + 8), Value: 7 };
    unsafe { world.queue.list.WriteBufferImmediate(1, &raw const write, None) };
    world.read(&buffer, 8, 4);
    assert_eq!(world.rules(), []);
    world.read(&buffer, 4, 8);
    assert_eq!(world.rules(), [(Rule::I2, None)]);
}

#[test]
fn gpu_based_validation_is_the_tracker() {
    let factory = World::new(AliasingTracking::ADVANCED).gpu.device_factory().expect("it is new enough");
    let model_of_a_new_device = || {
        let mut device: Option<ID3D12Device> = None;
        unsafe { factory.CreateDevice(None, D3D_FEATURE_LEVEL_11_0, &mut device) }.expect("a device");
        let aliasing: IHeapwrightAliasing = device.expect("S_OK comes with a device").cast().expect("ours");
        let mut tracking =
            HEAPWRIGHT_ALIASING_TRACKING { Model: -1, Strictness: -1, Scramble: 0, ScrambleSeed: 0 };
        assert_eq!(unsafe { aliasing.GetTracking(&raw mut tracking) }, S_OK);
        tracking.Model
    };
    let debug: ID3D12Debug1 =
        unsafe { factory.GetConfigurationInterface(&CLSID_D3D12Debug) }.expect("switches");
    assert_eq!(model_of_a_new_device(), HEAPWRIGHT_ALIASING_MODEL_OFF);
    unsafe { debug.SetEnableGPUBasedValidation(true) };
    assert_eq!(model_of_a_new_device(), HEAPWRIGHT_ALIASING_MODEL_OFF, "the debug layer is off");
    unsafe { debug.EnableDebugLayer() };
    assert_eq!(model_of_a_new_device(), HEAPWRIGHT_ALIASING_MODEL_ADVANCED);
}

#[test]
fn wrong_calls_of_the_interface_are_refused() {
    let world = World::new(AliasingTracking::ADVANCED);
    let aliasing: IHeapwrightAliasing = world.device.cast().expect("ours");
    for (model, strictness) in [(3, HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED), (1, 4), (1, -1)] {
        let wrong = HEAPWRIGHT_ALIASING_TRACKING {
            Model: model,
            Strictness: strictness,
            Scramble: 0,
            ScrambleSeed: 0,
        };
        assert_eq!(unsafe { aliasing.SetTracking(&raw const wrong) }, E_INVALIDARG);
    }
    unsafe {
        assert_eq!(aliasing.SetTracking(std::ptr::null()), E_INVALIDARG);
        assert_eq!(aliasing.GetTracking(std::ptr::null_mut()), E_INVALIDARG);
        assert_eq!(aliasing.GetViolation(0, std::ptr::null_mut()), E_INVALIDARG);
        let mut size = 0;
        assert_eq!(aliasing.GetViolationText(0, &raw mut size, std::ptr::null_mut()), S_FALSE);
        let mut contents = 0;
        assert_eq!(aliasing.GetContents(std::ptr::null_mut(), 0, &raw mut contents), E_INVALIDARG);
        let other = world.other.as_raw();
        assert_eq!(aliasing.GetContents(other, 0, &raw mut contents), S_OK);
        assert_eq!(contents, HEAPWRIGHT_ALIASING_CONTENTS_VALID);
        assert_eq!(aliasing.GetContents(other, 256, &raw mut contents), S_FALSE);
    }
}
