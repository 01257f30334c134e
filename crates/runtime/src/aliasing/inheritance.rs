//! Whether a resource inherits the data of another that used its memory (document ALIAS, *Data Inheritance*).

use heapwright_d3d12::*;

use super::laws::AliasingLaws;
use super::resource::{Home, TrackedResource};
use super::rule::Rule;
use super::state::BarrierState;
use crate::ddi::TextureMemoryLayout;

/// How contents go over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transfer {
    /// Byte by byte, from buffer to buffer.
    Bytes,
    /// Unit by unit, of which both have the same.
    Units,
    /// A whole tile is valid, or nothing of it is.
    WholeTiles,
}

/// What decides beside the two resources.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) laws: AliasingLaws,
    /// The simple usage model.
    pub(super) is_simple: bool,
    /// The heap has D3D12_HEAP_FLAG_SHARED.
    pub(super) is_shared: bool,
    /// Both call the bytes in question by the same offset.
    pub(super) same_place: bool,
    /// `StandardSwizzle64KBSupported`.
    pub(super) has_standard_swizzle: bool,
}

/// Whether `to` can inherit from `from`, states aside.
///
/// # Errors
///
/// The rule that stands against it.
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

/// A buffer and a texture whose bytes the layout tells.
fn buffer_and_texture(texture: &TrackedResource, of: Circumstances) -> Result<Transfer, Rule> {
    check_bytes_are_told(texture, of).map(|()| Transfer::WholeTiles)
}

/// Whether a texture's layout tells which byte is which, for whoever reads its memory as something else.
///
/// # Errors
///
/// The rule that stands against it.
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

fn between_textures(
    from: &TrackedResource,
    to: &TrackedResource,
    of: Circumstances,
) -> Result<Transfer, Rule> {
    let laws = of.laws;
    let (one, two) = (&from.identity, &to.identity);
    let is_reserved = |resource: &TrackedResource| matches!(resource.home, Home::Reserved(_));
    let same_method = is_reserved(from) == is_reserved(to);
    let needs = |law| laws.contains(law);
    let same_desc = one.desc == two.desc || !needs(AliasingLaws::INHERITANCE_NEEDS_SAME_DESCRIPTION);
    let same_clear =
        one.clear_value == two.clear_value || !needs(AliasingLaws::INHERITANCE_NEEDS_SAME_CLEAR_VALUE);
    let same_way = same_method || !needs(AliasingLaws::INHERITANCE_NEEDS_SAME_METHOD);
    let same_place = of.same_place || !needs(AliasingLaws::INHERITANCE_NEEDS_SAME_PLACE);
    if same_desc && same_clear && same_way && same_place && from.shape.unit_count() == to.shape.unit_count() {
        let by_flag = of.is_shared || !needs(AliasingLaws::INHERITANCE_NEEDS_SHARED);
        let by_layout =
            from.shape.is_defined() && (is_reserved(from) || needs(AliasingLaws::DEFINED_LAYOUTS_INHERIT));
        return if by_flag || by_layout { Ok(Transfer::Units) } else { Err(Rule::H1) };
    }
    // Tiles of the same kind, wherever they are in the two (H-3): what is in a tile goes by format and shape alone. Placed
    // textures inherit no less than reserved ones (document ALIAS, the first paragraph).
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
    // What a buffer between the two would hand on goes over without it.
    if check_bytes_are_told(from, of).is_ok() && check_bytes_are_told(to, of).is_ok() {
        return Ok(Transfer::WholeTiles);
    }
    Err(if of.same_place { Rule::H1 } else { Rule::I1 })
}

/// Whether a unit of each may be in its state for data to go over.
///
/// # Errors
///
/// The rule that stands against it.
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
    if is_per_tile {
        return if both_common || !laws.contains(AliasingLaws::TILES_INHERIT_IN_COMMON) {
            Ok(())
        } else {
            Err(Rule::H5)
        };
    }
    let same =
        one.is_same(two) && (one.is_written() || !laws.contains(AliasingLaws::READ_STATES_DO_NOT_INHERIT));
    if both_common || same || !laws.contains(AliasingLaws::STATES_ARE_COMPATIBLE) {
        Ok(())
    } else {
        Err(Rule::H6)
    }
}

fn is_placed(resource: &TrackedResource) -> bool {
    matches!(resource.home, Home::Placed { .. })
}

/// The state that counts for a unit. What every state is compatible with is as good as in COMMON.
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
