//! Aliasing: resources that share memory, the validity of their contents, and the barriers between their uses.
//!
//! There is one file for each section of rules: [`granularity`] (G), [`invalidation`] (I), [`barriers`] (B),
//! [`inheritance`] (H) and [`enhanced`] barriers (E). The ids of the checks contain the number of their rule. The
//! checks follow the rules and compare the bytes that must survive, so they run on any device. The effect of most
//! violations cannot be observed from outside the device: the tests of heapwright-runtime violate each rule under its
//! tracker of aliasing.

pub(super) mod barriers;
pub(super) mod enhanced;
pub(super) mod granularity;
pub(super) mod inheritance;
pub(super) mod invalidation;

use crate::check::Need;

/// Needs of checks with textures.
const WITH_TEXTURES: &[Need] = &[Need::Textures, Need::Footprints];
/// Needs of checks with textures and buffers in one heap.
const MIXED: &[Need] = &[Need::Textures, Need::Footprints, Need::HeapTier2];
/// Needs of checks with textures in 64 KiB tiles, reserved or not.
const TILED: &[Need] = &[Need::Textures, Need::Footprints, Need::TiledResources];
/// Needs of checks with textures in 64 KiB tiles and buffers in one heap.
const MIXED_TILED: &[Need] = &[Need::Textures, Need::Footprints, Need::HeapTier2, Need::TiledResources];
