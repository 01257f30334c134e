//! Runs the examples on the simulated GPU, or on the device that HEAPWRIGHT_TEST_DEVICE names. Each example
//! compares the bytes that it reads back from the GPU with those that it wrote, and returns the outcome.
#![allow(missing_docs, dead_code, reason = "a test")]
#![allow(clippy::duplicate_mod, reason = "each example has the module with the device")]

#[path = "../examples/alignment_floor.rs"]
mod alignment_floor;
#[path = "../examples/byte_offset_view.rs"]
mod byte_offset_view;
#[path = "../examples/device/mod.rs"]
mod device;
#[path = "../examples/diffusion_plan.rs"]
mod diffusion_plan;
#[path = "../examples/frame_graph.rs"]
mod frame_graph;
#[path = "../examples/frame_loop.rs"]
mod frame_loop;
#[path = "../examples/hello_allocator.rs"]
mod hello_allocator;
#[path = "../examples/kv_caches.rs"]
mod kv_caches;
#[path = "../examples/queue/mod.rs"]
mod queue;
#[path = "../examples/upload_ring.rs"]
mod upload_ring;
#[path = "../examples/virtual_texture.rs"]
mod virtual_texture;

use self::device::Argument;

fn device_to_test() -> Option<String> {
    std::env::var("HEAPWRIGHT_TEST_DEVICE").ok()
}

#[test]
fn hello_allocator_gets_back_what_it_uploads() {
    hello_allocator::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn upload_ring_gets_back_what_it_uploads() {
    upload_ring::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn alignment_floor_places_buffers_at_what_their_uses_need() {
    alignment_floor::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn byte_offset_view_shows_parts_at_any_offset() {
    byte_offset_view::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn frame_graph_passes_its_input_through_shared_memory() {
    frame_graph::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn frame_loop_draws_what_it_loaded_with_less_memory_than_that() {
    frame_loop::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn kv_caches_grow_without_a_copy() {
    kv_caches::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn diffusion_plan_gets_back_what_each_tensor_had() {
    diffusion_plan::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn virtual_texture_shows_what_it_loaded() {
    virtual_texture::run(device_to_test().as_deref()).expect("it runs");
}

#[test]
fn the_device_is_named_as_for_the_program() {
    let named =
        |arguments: &[&str]| device::from_arguments(arguments.iter().map(|&argument| argument.to_owned()));
    let device = |name: &str| Ok(Argument::Device(Some(name.to_owned())));
    assert_eq!(named(&[]), Ok(Argument::Device(None)));
    assert_eq!(named(&["--device", "host:uma"]), device("host:uma"));
    assert_eq!(named(&["--device=d3d12:1"]), device("d3d12:1"));
    assert_eq!(named(&["--help"]), Ok(Argument::Help));
    for wrong in [&["d3d12"][..], &["--device"], &["--frames"], &["--device", "host", "more"]] {
        assert!(named(wrong).is_err(), "{wrong:?}");
    }
    hello_allocator::run(Some("host:uma")).expect("it runs");
}

#[test]
fn an_argument_that_names_no_device_is_an_error_that_names_it() {
    let error = hello_allocator::run(Some("d3d11")).expect_err("no such device");
    assert_eq!(
        error.to_string(),
        "d3d11: none of host, host:PROFILE, vulkan, vulkan:INDEX, d3d12, d3d12:NUMBER and d3d12:PATH"
    );
    let error = hello_allocator::run(Some("d3d12:no/such.so")).expect_err("no such library");
    assert!(error.to_string().starts_with("cannot load no/such.so: "), "{error}");
}
