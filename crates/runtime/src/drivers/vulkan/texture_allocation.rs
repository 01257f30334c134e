//! The size and alignment of a texture: those of the device's image, within D3D12's rules.

use heapwright_core::ByteSize;

use crate::ddi::{ResourceAllocation, ResourceArgs, TextureArgs};

/// Decides the size and alignment of a texture whose texels take `texels` bytes in the driver's layout, from what the
/// device requires of an image, if it has one.
///
/// D3D12 has few alignments. A device that needs more than D3D12's largest for a texture could not bind an image to the
/// places of that texture, so the texture takes what its texels take.
pub(super) fn of_texture(
    texture: &TextureArgs,
    resource: &ResourceArgs,
    texels: ByteSize,
    image: Option<ResourceAllocation>,
) -> ResourceAllocation {
    let restriction = resource.alignment_restriction;
    let (default, tight) = (texture.default_alignment(), texture.largest_tight_alignment());
    let largest = if resource.is_tight() { tight } else { default };
    let image = image.filter(|image| image.alignment <= largest);
    let alignment = match image {
        None if resource.is_tight() => largest.max(restriction),
        Some(image) if resource.is_tight() => image.alignment.max(restriction),
        // A small texture of a device that needs more has the alignment of any other.
        Some(image) if image.alignment > restriction => default,
        _ => restriction,
    };
    let size = image.map_or(texels, |image| image.size.max(texels));
    ResourceAllocation { size: size.align_up(alignment).unwrap_or(size), alignment }
}

#[cfg(test)]
mod tests;
