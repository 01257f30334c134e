//! Conversion of colours and integers to texels.

use heapwright_d3d12::*;

/// The bytes of one texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TexelValue {
    /// The bytes, of which the first `len` are valid.
    pub(crate) bytes: [u8; 16],
    /// Size of the texel in bytes, 1 to 16.
    pub(crate) len: u8,
}

impl TexelValue {
    /// The valid bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len.min(16))]
    }
}

/// The interpretation of a channel's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Unorm,
    /// Unorm with sRGB-encoded R, G and B.
    Srgb,
    Snorm,
    Uint,
    Sint,
    Float,
    /// Uninterpreted bits.
    Typeless,
}

/// The layout of a texel: the channels from the lowest bit on, each with its number of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) numbers: Numbers,
    pub(super) channels: &'static [(usize, u32)],
}

pub(super) const R: usize = 0;
const G: usize = 1;
const B: usize = 2;
pub(super) const A: usize = 3;

const RGBA32: &[(usize, u32)] = &[(R, 32), (G, 32), (B, 32), (A, 32)];
const RGB32: &[(usize, u32)] = &[(R, 32), (G, 32), (B, 32)];
const RG32: &[(usize, u32)] = &[(R, 32), (G, 32)];
const R32: &[(usize, u32)] = &[(R, 32)];
const RGBA16: &[(usize, u32)] = &[(R, 16), (G, 16), (B, 16), (A, 16)];
const RG16: &[(usize, u32)] = &[(R, 16), (G, 16)];
const R16: &[(usize, u32)] = &[(R, 16)];
const RGBA8: &[(usize, u32)] = &[(R, 8), (G, 8), (B, 8), (A, 8)];
const BGRA8: &[(usize, u32)] = &[(B, 8), (G, 8), (R, 8), (A, 8)];
const RG8: &[(usize, u32)] = &[(R, 8), (G, 8)];
const R8: &[(usize, u32)] = &[(R, 8)];
const A8: &[(usize, u32)] = &[(A, 8)];
const RGB10A2: &[(usize, u32)] = &[(R, 10), (G, 10), (B, 10), (A, 2)];
const RG11B10: &[(usize, u32)] = &[(R, 11), (G, 11), (B, 10)];
const B5G6R5: &[(usize, u32)] = &[(B, 5), (G, 6), (R, 5)];
const B5G5R5A1: &[(usize, u32)] = &[(B, 5), (G, 5), (R, 5), (A, 1)];
const B4G4R4A4: &[(usize, u32)] = &[(B, 4), (G, 4), (R, 4), (A, 4)];

pub(super) fn layout(format: DXGI_FORMAT) -> Option<Layout> {
    use Numbers::{Float, Sint, Snorm, Srgb, Typeless, Uint, Unorm};
    let (numbers, channels) = match format {
        DXGI_FORMAT_R32G32B32A32_FLOAT => (Float, RGBA32),
        DXGI_FORMAT_R32G32B32A32_UINT => (Uint, RGBA32),
        DXGI_FORMAT_R32G32B32A32_SINT => (Sint, RGBA32),
        DXGI_FORMAT_R32G32B32_FLOAT => (Float, RGB32),
        DXGI_FORMAT_R32G32B32_UINT => (Uint, RGB32),
        DXGI_FORMAT_R32G32B32_SINT => (Sint, RGB32),
        DXGI_FORMAT_R16G16B16A16_FLOAT => (Float, RGBA16),
        DXGI_FORMAT_R16G16B16A16_UNORM => (Unorm, RGBA16),
        DXGI_FORMAT_R16G16B16A16_UINT => (Uint, RGBA16),
        DXGI_FORMAT_R16G16B16A16_SNORM => (Snorm, RGBA16),
        DXGI_FORMAT_R16G16B16A16_SINT => (Sint, RGBA16),
        DXGI_FORMAT_R32G32_FLOAT => (Float, RG32),
        DXGI_FORMAT_R32G32_UINT => (Uint, RG32),
        DXGI_FORMAT_R32G32_SINT => (Sint, RG32),
        DXGI_FORMAT_R10G10B10A2_UNORM => (Unorm, RGB10A2),
        DXGI_FORMAT_R10G10B10A2_UINT => (Uint, RGB10A2),
        DXGI_FORMAT_R11G11B10_FLOAT => (Float, RG11B10),
        DXGI_FORMAT_R8G8B8A8_UNORM => (Unorm, RGBA8),
        DXGI_FORMAT_R8G8B8A8_UNORM_SRGB => (Srgb, RGBA8),
        DXGI_FORMAT_R8G8B8A8_UINT => (Uint, RGBA8),
        DXGI_FORMAT_R8G8B8A8_SNORM => (Snorm, RGBA8),
        DXGI_FORMAT_R8G8B8A8_SINT => (Sint, RGBA8),
        DXGI_FORMAT_R16G16_FLOAT => (Float, RG16),
        DXGI_FORMAT_R16G16_UNORM => (Unorm, RG16),
        DXGI_FORMAT_R16G16_UINT => (Uint, RG16),
        DXGI_FORMAT_R16G16_SNORM => (Snorm, RG16),
        DXGI_FORMAT_R16G16_SINT => (Sint, RG16),
        DXGI_FORMAT_R32_TYPELESS => (Typeless, R32),
        DXGI_FORMAT_R32_FLOAT | DXGI_FORMAT_D32_FLOAT => (Float, R32),
        DXGI_FORMAT_R32_UINT => (Uint, R32),
        DXGI_FORMAT_R32_SINT => (Sint, R32),
        DXGI_FORMAT_R8G8_UNORM => (Unorm, RG8),
        DXGI_FORMAT_R8G8_UINT => (Uint, RG8),
        DXGI_FORMAT_R8G8_SNORM => (Snorm, RG8),
        DXGI_FORMAT_R8G8_SINT => (Sint, RG8),
        DXGI_FORMAT_R16_FLOAT => (Float, R16),
        DXGI_FORMAT_R16_UNORM | DXGI_FORMAT_D16_UNORM => (Unorm, R16),
        DXGI_FORMAT_R16_UINT => (Uint, R16),
        DXGI_FORMAT_R16_SNORM => (Snorm, R16),
        DXGI_FORMAT_R16_SINT => (Sint, R16),
        DXGI_FORMAT_R8_UNORM => (Unorm, R8),
        DXGI_FORMAT_R8_UINT => (Uint, R8),
        DXGI_FORMAT_R8_SNORM => (Snorm, R8),
        DXGI_FORMAT_R8_SINT => (Sint, R8),
        DXGI_FORMAT_A8_UNORM => (Unorm, A8),
        DXGI_FORMAT_B5G6R5_UNORM => (Unorm, B5G6R5),
        DXGI_FORMAT_B5G5R5A1_UNORM => (Unorm, B5G5R5A1),
        DXGI_FORMAT_B4G4R4A4_UNORM => (Unorm, B4G4R4A4),
        DXGI_FORMAT_B8G8R8A8_UNORM | DXGI_FORMAT_B8G8R8X8_UNORM => (Unorm, BGRA8),
        DXGI_FORMAT_B8G8R8A8_UNORM_SRGB | DXGI_FORMAT_B8G8R8X8_UNORM_SRGB => (Srgb, BGRA8),
        _ => return None,
    };
    Some(Layout { numbers, channels })
}

/// Returns the size of a texel in bytes, or `None` for formats that cannot be cleared.
pub(crate) fn size(format: DXGI_FORMAT) -> Option<u32> {
    layout(format).map(|layout| layout.channels.iter().map(|(_, bits)| bits).sum::<u32>() / 8)
}

/// Converts a colour to the format, as `ClearRenderTargetView` and `ClearUnorderedAccessViewFloat` do.
pub(crate) fn of_floats(format: DXGI_FORMAT, values: [f32; 4]) -> Option<TexelValue> {
    let Layout { numbers, channels } = layout(format)?;
    pack(channels, |channel, bits| match numbers {
        Numbers::Unorm => unorm(values[channel], bits),
        Numbers::Srgb if channel == A => unorm(values[channel], bits),
        Numbers::Srgb => unorm(to_srgb(values[channel]), bits),
        Numbers::Snorm => snorm(values[channel], bits),
        Numbers::Uint => to_uint(values[channel], bits),
        Numbers::Sint => to_sint(values[channel], bits),
        Numbers::Float => to_float(values[channel], bits),
        Numbers::Typeless => values[channel].to_bits(),
    })
}

/// Returns whether the format can represent floats; integer and typeless formats cannot.
pub(crate) fn takes_floats(format: DXGI_FORMAT) -> bool {
    layout(format)
        .is_some_and(|layout| !matches!(layout.numbers, Numbers::Uint | Numbers::Sint | Numbers::Typeless))
}

/// Truncates integers to the channels of the format, as `ClearUnorderedAccessViewUint` does.
pub(crate) fn of_uints(format: DXGI_FORMAT, values: [u32; 4]) -> Option<TexelValue> {
    pack(layout(format)?.channels, |channel, _| values[channel])
}

fn pack(channels: &[(usize, u32)], value: impl Fn(usize, u32) -> u32) -> Option<TexelValue> {
    let (mut texel, mut shift) = (0_u128, 0);
    for &(channel, bits) in channels {
        let mask = u32::MAX >> (32 - bits);
        texel |= u128::from(value(channel, bits) & mask) << shift;
        shift += bits;
    }
    Some(TexelValue { bytes: texel.to_le_bytes(), len: u8::try_from(shift / 8).ok()? })
}

/// Rounds to the nearest value; NaN becomes zero.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from float; `as` saturates")]
pub(super) fn unorm(value: f32, bits: u32) -> u32 {
    let max = f64::from(u32::MAX >> (32 - bits));
    (f64::from(value).clamp(0.0, 1.0) * max + 0.5) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "from float; `as` saturates")]
fn snorm(value: f32, bits: u32) -> u32 {
    let max = f64::from((1_u32 << (bits - 1)) - 1);
    let scaled = (f64::from(value).clamp(-1.0, 1.0) * max).round() as i32;
    scaled.cast_unsigned()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from float; `as` saturates")]
fn to_uint(value: f32, bits: u32) -> u32 {
    (value as u32).min(u32::MAX >> (32 - bits))
}

#[expect(clippy::cast_possible_truncation, reason = "from float; `as` saturates")]
fn to_sint(value: f32, bits: u32) -> u32 {
    let max = i32::MAX >> (32 - bits);
    (value as i32).clamp(-max - 1, max).cast_unsigned()
}

/// The sRGB encoding (IEC 61966-2-1).
pub(super) fn to_srgb(value: f32) -> f32 {
    let value = value.clamp(0.0, 1.0);
    if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 }
}

/// Encodes a float of 32, 16, 11 or 10 bits; the last two have no sign.
///
/// Rounds to the nearest value, ties to even. Finite values that are too large become the largest finite value, as in
/// clears on Windows (`FLT_MAX` in R16G16_FLOAT is 0x7bff).
pub(super) fn to_float(value: f32, bits: u32) -> u32 {
    let source = value.to_bits();
    if bits == 32 {
        return source;
    }
    let (has_sign, mantissa_bits) = match bits {
        16 => (true, 10),
        11 => (false, 6),
        _ => (false, 5),
    };
    let infinity = 31_u32 << mantissa_bits;
    let is_negative = source >> 31 != 0;
    let magnitude = source & 0x7fff_ffff;
    let unsigned = if magnitude > 0x7f80_0000 {
        // NaN remains NaN.
        infinity | (1 << (mantissa_bits - 1))
    } else if !has_sign && is_negative {
        0
    } else if magnitude == 0x7f80_0000 {
        infinity
    } else {
        round_float(magnitude, mantissa_bits).min(infinity - 1)
    };
    let sign = if has_sign && is_negative { 1 << (bits - 1) } else { 0 };
    unsigned | sign
}

/// Rounds a positive finite float to 5 bits of exponent and `mantissa_bits`. The result is infinity's pattern or more
/// if the value is too large.
fn round_float(magnitude: u32, mantissa_bits: u32) -> u32 {
    let exponent = magnitude >> 23;
    let mantissa = u64::from(magnitude & 0x7f_ffff);
    // 112 is the difference of the biases, 127 - 15.
    let (exact, drop) = if exponent > 112 {
        ((u64::from(exponent - 112) << 23) | mantissa, 23 - mantissa_bits)
    } else {
        // Denormal in the target: the implicit leading one becomes an explicit bit.
        let shift = 113 - exponent.max(1);
        if shift > 24 {
            return 0;
        }
        let leading = if exponent == 0 { mantissa } else { mantissa | 0x80_0000 };
        (leading, 23 - mantissa_bits + shift)
    };
    let kept = exact >> drop;
    let (rest, half) = (exact & ((1 << drop) - 1), 1_u64 << (drop - 1));
    let rounds_up = rest > half || (rest == half && kept & 1 == 1);
    u32::try_from(kept + u64::from(rounds_up)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(format: DXGI_FORMAT, values: [f32; 4]) -> Vec<u8> {
        of_floats(format, values).expect("a format that can be cleared").as_bytes().to_vec()
    }

    #[test]
    fn colours_are_converted_to_the_format() {
        assert_eq!(bytes(DXGI_FORMAT_R8G8B8A8_UNORM, [1.0, 0.5, 0.0, 2.0]), [255, 128, 0, 255]);
        assert_eq!(bytes(DXGI_FORMAT_B8G8R8A8_UNORM, [1.0, 0.5, 0.0, -1.0]), [0, 128, 255, 0]);
        assert_eq!(bytes(DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, [0.5, 0.0, 1.0, 0.5]), [188, 0, 255, 128]);
        assert_eq!(bytes(DXGI_FORMAT_R8G8_SNORM, [-1.0, 1.0, 0.0, 0.0]), [0x81, 0x7f]);
        assert_eq!(bytes(DXGI_FORMAT_R16_UINT, [70000.0, 0.0, 0.0, 0.0]), [0xff, 0xff]);
        assert_eq!(bytes(DXGI_FORMAT_R8_SINT, [-200.0, 0.0, 0.0, 0.0]), [0x80]);
        assert_eq!(bytes(DXGI_FORMAT_R32_FLOAT, [1.0, 0.0, 0.0, 0.0]), 1.0_f32.to_le_bytes());
        assert_eq!(bytes(DXGI_FORMAT_R8_UNORM, [f32::NAN, 0.0, 0.0, 0.0]), [0]);
        assert_eq!(bytes(DXGI_FORMAT_B5G6R5_UNORM, [1.0, 0.0, 1.0, 0.0]), [0x1f, 0xf8]);
        assert_eq!(of_floats(DXGI_FORMAT_BC1_UNORM, [0.0; 4]), None);
    }

    #[test]
    fn small_floats_round_to_the_nearest() {
        let half = |value: f32| to_float(value, 16);
        assert_eq!(half(1.0), 0x3c00);
        assert_eq!(half(-2.0), 0xc000);
        assert_eq!(half(65504.0), 0x7bff);
        assert_eq!(half(65520.0), 0x7bff, "a tie goes to even, which would be infinity");
        assert_eq!(half(f32::MAX), 0x7bff);
        assert_eq!(half(f32::MIN), 0xfbff);
        assert_eq!(to_float(f32::MAX, 11), (31 << 6) - 1);
        assert_eq!(to_float(f32::MAX, 10), (31 << 5) - 1);
        assert_eq!(half(f32::INFINITY), 0x7c00);
        assert_eq!(half(2.0_f32.powi(-24)), 1, "the smallest denormal");
        assert_eq!(half(2.0_f32.powi(-25)), 0, "a tie goes to even, which is zero");
        assert_eq!(half(1e-20), 0);
        assert_eq!(half(2.0_f32.powi(-14)), 0x0400, "the smallest normal");
        assert_eq!(half(f32::NAN) & 0x7c00, 0x7c00);
        assert_ne!(half(f32::NAN) & 0x03ff, 0);
        assert_eq!(to_float(1.0, 11), 15 << 6);
        assert_eq!(to_float(-1.0, 11), 0);
        assert_eq!(to_float(1.0, 10), 15 << 5);
    }

    #[test]
    fn integers_keep_their_lower_bits() {
        let texel =
            of_uints(DXGI_FORMAT_R8G8B8A8_UNORM, [0x101, 0x202, 3, 4]).expect("a format that can be cleared");
        assert_eq!(texel.as_bytes(), [1, 2, 3, 4]);
        let texel = of_uints(DXGI_FORMAT_R32_TYPELESS, [0xdead_beef, 0, 0, 0]).expect("a typeless format");
        assert_eq!(texel.as_bytes(), 0xdead_beef_u32.to_le_bytes());
    }
}
