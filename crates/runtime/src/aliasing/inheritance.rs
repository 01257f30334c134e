//! Data inheritance between resources (Microsoft's *Memory Aliasing and Data Inheritance*, *Data Inheritance*).

use heapwright_d3d12::*;

use super::laws::{AliasingLaws, Row, row};
use super::resource::{TrackedHome, TrackedResource};
use super::rule::Rule;
use super::state::BarrierState;
use crate::ddi::TextureMemoryLayout;

/// The granularity in which contents are transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transfer {
    /// Byte by byte, between buffers.
    Bytes,
    /// Unit by unit; both resources have the same units.
    Units,
    /// By tiles that are either entirely valid or not valid at all.
    WholeTiles,
}

/// The conditions of a transfer besides the two resources.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) laws: AliasingLaws,
    /// Whether the simple usage model applies.
    pub(super) is_simple: bool,
    /// Whether the heap has D3D12_HEAP_FLAG_SHARED.
    pub(super) is_shared: bool,
    /// Whether the bytes have the same offset in both resources.
    pub(super) same_place: bool,
    /// `StandardSwizzle64KBSupported`.
    pub(super) has_standard_swizzle: bool,
}

/// Returns how `to` can inherit from `from`, not considering states.
///
/// # Errors
///
/// The rule that forbids inheritance.
pub(super) fn between(
    from: &TrackedResource,
    to: &TrackedResource,
    of: Circumstances,
) -> Result<Transfer, Rule> {
    if of.is_simple && of.laws.contains(AliasingLaws::SIMPLE_DOES_NOT_INHERIT) {
        return Err(Rule::I1);
    }
    match (&from.shape.texture, &to.shape.texture) {
        (None, None) if of.laws.contains(AliasingLaws::DEFINED_LAYOUTS_INHERIT) => Ok(Transfer::Bytes),
        (None, None) => Err(Rule::H2),
        (Some(_), Some(_)) => between_textures(from, to, of),
        (Some(_), None) => buffer_and_texture(from, of),
        (None, Some(_)) => buffer_and_texture(to, of),
    }
}

/// Checks inheritance between a buffer and a texture, whose layout must define its bytes.
fn buffer_and_texture(texture: &TrackedResource, of: Circumstances) -> Result<Transfer, Rule> {
    check_bytes_are_told(texture, of).map(|()| Transfer::WholeTiles)
}

/// Checks that a texture's layout defines the position of each texel, so that its memory can be read as another
/// resource.
///
/// # Errors
///
/// The rule that forbids inheritance.
fn check_bytes_are_told(texture: &TrackedResource, of: Circumstances) -> Result<(), Rule> {
    if !texture.shape.is_defined() {
        return Err(Rule::H2);
    }
    if texture.shape.is_row_major() {
        return if of.laws.contains(AliasingLaws::DEFINED_LAYOUTS_INHERIT) { Ok(()) } else { Err(Rule::H2) };
    }
    let layout = texture.shape.texture.map(|texture| texture.layout);
    let is_standard = layout == Some(TextureMemoryLayout::StandardSwizzle64Kib) && of.has_standard_swizzle;
    let is_bytes = is_standard && of.laws.contains(AliasingLaws::SWIZZLE_IS_BYTES);
    if is_bytes || !of.laws.contains(AliasingLaws::UNDEFINED_SWIZZLE_IS_OPAQUE) {
        Ok(())
    } else {
        Err(Rule::H7)
    }
}

/// What two textures have in common.
struct Pair {
    same_desc: bool,
    same_clear_value: bool,
    same_method: bool,
    same_place: bool,
}

/// The differences for which textures do not count as the same.
const DIFFERENCES: &[Row<Pair, ()>] = &[
    row(AliasingLaws::INHERITANCE_NEEDS_SAME_DESCRIPTION, |pair| !pair.same_desc, ()),
    row(AliasingLaws::INHERITANCE_NEEDS_SAME_CLEAR_VALUE, |pair| !pair.same_clear_value, ()),
    row(AliasingLaws::INHERITANCE_NEEDS_SAME_METHOD, |pair| !pair.same_method, ()),
    row(AliasingLaws::INHERITANCE_NEEDS_SAME_PLACE, |pair| !pair.same_place, ()),
];

fn between_textures(
    from: &TrackedResource,
    to: &TrackedResource,
    of: Circumstances,
) -> Result<Transfer, Rule> {
    let laws = of.laws;
    let (one, two) = (&from.identity, &to.identity);
    let is_reserved = |resource: &TrackedResource| matches!(resource.home, TrackedHome::Reserved(_));
    let same_method = is_reserved(from) == is_reserved(to);
    let needs = |law| laws.contains(law);
    let pair = Pair {
        same_desc: one.desc == two.desc,
        same_clear_value: one.clear_value == two.clear_value,
        same_method,
        same_place: of.same_place,
    };
    let is_same = laws.effects(DIFFERENCES, &pair).next().is_none();
    let same_way = same_method || !needs(AliasingLaws::INHERITANCE_NEEDS_SAME_METHOD);
    if is_same && from.shape.unit_count() == to.shape.unit_count() {
        let by_flag = of.is_shared || !needs(AliasingLaws::INHERITANCE_NEEDS_SHARED);
        let by_layout =
            from.shape.is_defined() && (is_reserved(from) || needs(AliasingLaws::DEFINED_LAYOUTS_INHERIT));
        return if by_flag || by_layout { Ok(Transfer::Units) } else { Err(Rule::H1) };
    }
    // Tiles of the same kind, at any position of the two resources (H-3): format and shape alone determine the layout
    // of a tile. This applies to placed textures as well as to reserved ones (the document's first paragraph).
    let alike = |one: &D3D12_RESOURCE_DESC1, two: &D3D12_RESOURCE_DESC1| {
        one.Dimension == two.Dimension
            && one.Format == two.Format
            && one.SampleDesc == two.SampleDesc
            && one.Layout == two.Layout
            && one.Flags == two.Flags
    };
    let by_tile = is_reserved(from) || needs(AliasingLaws::DEFINED_LAYOUTS_INHERIT);
    if from.shape.has_tiles() && to.shape.has_tiles() && by_tile && same_way && alike(&one.desc, &two.desc) {
        return Ok(Transfer::WholeTiles);
    }
    // Contents that a buffer in between could inherit and pass on are also inherited directly.
    if check_bytes_are_told(from, of).is_ok() && check_bytes_are_told(to, of).is_ok() {
        return Ok(Transfer::WholeTiles);
    }
    Err(if of.same_place { Rule::H1 } else { Rule::I1 })
}

/// Checks that the states of both units allow inheritance.
///
/// # Errors
///
/// The rule that forbids inheritance.
pub(super) fn check_states(
    (from, from_unit): (&TrackedResource, u32),
    (to, to_unit): (&TrackedResource, u32),
    transfer: Transfer,
    of: Circumstances,
) -> Result<(), Rule> {
    let laws = of.laws;
    let (one, two) = (state(from, from_unit, laws), state(to, to_unit, laws));
    let both_common = one.is_common() && two.is_common();
    let is_per_tile =
        transfer != Transfer::Units || (from.shape.has_tiles() && !(of.is_shared && is_placed(from)));
    let states =
        States { is_per_tile, both_common, are_same: one.is_same(two), is_written: one.is_written() };
    laws.effects(INCOMPATIBLE, &states).next().map_or(Ok(()), |&rule| Err(rule))
}

/// The states of two units between which contents would pass.
struct States {
    /// Whether the contents pass tile by tile, or byte by byte.
    is_per_tile: bool,
    both_common: bool,
    are_same: bool,
    is_written: bool,
}

/// The states that do not allow inheritance.
const INCOMPATIBLE: &[Row<States, Rule>] = &[
    row(AliasingLaws::TILES_INHERIT_IN_COMMON, |of| of.is_per_tile && !of.both_common, Rule::H5),
    row(
        AliasingLaws::STATES_ARE_COMPATIBLE,
        |of| !of.is_per_tile && !of.both_common && !of.are_same,
        Rule::H6,
    ),
    row(
        AliasingLaws::STATES_ARE_COMPATIBLE.union(AliasingLaws::READ_STATES_DO_NOT_INHERIT),
        |of| !of.is_per_tile && !of.both_common && of.are_same && !of.is_written,
        Rule::H6,
    ),
];

fn is_placed(resource: &TrackedResource) -> bool {
    matches!(resource.home, TrackedHome::Placed { .. })
}

/// Returns the state of a unit. Resources without a state count as in COMMON.
fn state(resource: &TrackedResource, unit: u32, laws: AliasingLaws) -> BarrierState {
    if resource.shape.is_stateless() && laws.contains(AliasingLaws::STATELESS_INHERIT) {
        return BarrierState::COMMON;
    }
    if resource.shape.is_buffer() {
        return resource.state.get(0).copied().unwrap_or(BarrierState::COMMON);
    }
    let unit = if laws.contains(AliasingLaws::STATES_BY_SUBRESOURCE) { unit } else { 0 };
    resource.state_of_unit(unit)
}
