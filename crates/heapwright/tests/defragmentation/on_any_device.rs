//! Moves on the device that the environment names: every resource keeps its bytes.

use super::scene::Scene;
use crate::gpu::*;

#[test]
fn what_is_moved_keeps_its_bytes() {
    let mut random = fastrand::Rng::with_seed(0x2468_ace1_3579_bdf1);
    let mut scene = Scene::on_any_device();
    scene.populate(400, 60, &mut random);
    scene.thin_out(&mut random);
    scene.check_things();
    let mut run = scene.run();
    let figures = scene.defragment(&mut run, without_time_limit(), 1, 400);
    assert!(figures.moves > 0 && figures.after < figures.before, "{figures:?}");
    scene.check_things();
    scene.end(run);
}
