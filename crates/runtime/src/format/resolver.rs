//! Resolving of multisampled texels, as by `ResolveSubresource` and `ResolveSubresourceRegion`.

use heapwright_d3d12::*;

use super::texel_value::{A, Layout, Numbers, R, layout, to_float, to_srgb, unorm};

/// The function that combines the samples of a texel, channel by channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResolveMode {
    /// The average of the samples.
    Average,
    /// The minimum of the samples.
    Min,
    /// The maximum of the samples.
    Max,
}

/// Resolves samples of one format to a texel of the same format.
///
/// Averages are computed from the represented numbers (for sRGB formats, from linear light) and rounded once to the
/// nearest number of the format; floats of less than 32 bits are rounded to 32 bits first. Equal samples remain
/// unchanged. D3D12 leaves the exact rounding to the implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolver {
    layout: Layout,
    texel_bytes: u32,
    mode: ResolveMode,
}

impl Resolver {
    /// Creates a resolver for texels of `format`. The format of 24-bit depth is `DXGI_FORMAT_R24_UNORM_X8_TYPELESS`.
    ///
    /// Returns `None` for a format whose bits are not known, and for averages of integers. Cost: O(1).
    pub(crate) fn new(format: DXGI_FORMAT, mode: ResolveMode) -> Option<Self> {
        let (layout, texel_bytes) = if format == DXGI_FORMAT_R24_UNORM_X8_TYPELESS {
            (Layout { numbers: Numbers::Unorm, channels: &[(R, 24)] }, 4)
        } else {
            let layout = layout(format)?;
            (layout, layout.channels.iter().map(|(_, bits)| bits).sum::<u32>() / 8)
        };
        let is_integer = matches!(layout.numbers, Numbers::Uint | Numbers::Sint);
        let is_known = layout.numbers != Numbers::Typeless && !(mode == ResolveMode::Average && is_integer);
        is_known.then_some(Self { layout, texel_bytes, mode })
    }

    /// Resolves consecutive samples to `texel`; an incomplete last sample is ignored.
    ///
    /// Without samples, and in unused bits, the texel is zero. Cost: O(samples).
    pub(crate) fn resolve(&self, samples: &[u8], texel: &mut [u8]) {
        let size = self.texel_bytes as usize;
        let (mut resolved, mut shift) = (0_u128, 0);
        for &(channel, bits) in self.layout.channels {
            let mask = u32::MAX >> (32 - bits);
            let raw = samples.chunks_exact(size).map(|sample| bits_of(sample, shift) & mask);
            resolved |= u128::from(self.channel(channel, bits, raw) & mask) << shift;
            shift += bits;
        }
        for (to, from) in texel.iter_mut().zip(resolved.to_le_bytes()) {
            *to = from;
        }
    }

    fn channel(&self, channel: usize, bits: u32, samples: impl Iterator<Item = u32>) -> u32 {
        let values = samples.map(|raw| (self.value(channel, bits, raw), raw));
        match self.mode {
            // The bits of a sample are copied, so nothing is rounded. Numbers take precedence over NaN.
            ResolveMode::Min => {
                values.reduce(|a, b| if b.0 < a.0 || a.0.is_nan() { b } else { a }).map_or(0, |(_, raw)| raw)
            }
            ResolveMode::Max => {
                values.reduce(|a, b| if b.0 > a.0 || a.0.is_nan() { b } else { a }).map_or(0, |(_, raw)| raw)
            }
            ResolveMode::Average => {
                // The sum starts at -0, so that the average of negative zeros is one as well.
                let (sum, count) =
                    values.fold((-0.0, 0_u32), |(sum, count), (value, _)| (sum + value, count + 1));
                if count == 0 { 0 } else { self.bits(channel, bits, sum / f64::from(count)) }
            }
        }
    }

    /// Returns the number that bits represent. For normalized formats this is the integer, so that sums are exact.
    fn value(&self, channel: usize, bits: u32, raw: u32) -> f64 {
        // Shifting up and back extends the sign.
        let signed = f64::from(raw.unbounded_shl(32 - bits).cast_signed() >> (32 - bits));
        match self.layout.numbers {
            Numbers::Srgb if channel == A => f64::from(raw),
            Numbers::Srgb => from_srgb(f64::from(raw) / f64::from(u32::MAX >> (32 - bits))),
            // The two smallest integers both represent -1.
            Numbers::Snorm => signed.max(1.0 - f64::from(1_u32 << (bits - 1))),
            Numbers::Sint => signed,
            Numbers::Unorm | Numbers::Uint | Numbers::Typeless => f64::from(raw),
            Numbers::Float => from_float(raw, bits),
        }
    }

    /// Returns the bits of the nearest number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from the stored bits")]
    fn bits(&self, channel: usize, bits: u32, value: f64) -> u32 {
        match self.layout.numbers {
            Numbers::Unorm => (value + 0.5) as u32,
            Numbers::Srgb if channel == A => (value + 0.5) as u32,
            Numbers::Srgb => unorm(to_srgb(value as f32), bits),
            Numbers::Snorm => (value.round() as i32).cast_unsigned(),
            Numbers::Float => to_float(value as f32, bits),
            // `new` rejects averages of integers.
            Numbers::Uint | Numbers::Sint | Numbers::Typeless => 0,
        }
    }
}

/// Returns bits of a texel of up to 16 bytes from `shift` on, truncated to the 32 that a channel can have.
#[expect(clippy::cast_possible_truncation, reason = "only the lower 32 bits are used")]
fn bits_of(sample: &[u8], shift: u32) -> u32 {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(sample) {
        *to = *from;
    }
    (u128::from_le_bytes(bytes) >> shift) as u32
}

/// The inverse of the sRGB encoding (IEC 61966-2-1).
fn from_srgb(value: f64) -> f64 {
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

/// Decodes a float of 32, 16, 11 or 10 bits; the last two have no sign.
fn from_float(raw: u32, bits: u32) -> f64 {
    let (has_sign, mantissa_bits) = match bits {
        32 => return f32::from_bits(raw).into(),
        16 => (true, 10),
        11 => (false, 6),
        _ => (false, 5),
    };
    let mantissa = f64::from(raw & ((1 << mantissa_bits) - 1));
    let unit = f64::from(1_u32 << mantissa_bits);
    let exponent = (raw >> mantissa_bits) & 31;
    let magnitude = match exponent {
        0 => mantissa / unit * 2.0_f64.powi(-14),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / unit) * 2.0_f64.powi(exponent.cast_signed() - 15),
    };
    if has_sign && raw >> (bits - 1) & 1 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(format: DXGI_FORMAT, mode: ResolveMode, samples: &[u8]) -> Vec<u8> {
        let resolver = Resolver::new(format, mode).expect("a format that resolves");
        let mut texel = vec![0; resolver.texel_bytes as usize];
        resolver.resolve(samples, &mut texel);
        texel
    }

    #[test]
    fn equal_samples_resolve_to_themselves() {
        let modes = [ResolveMode::Average, ResolveMode::Min, ResolveMode::Max];
        let formats = [
            DXGI_FORMAT_R8_UNORM,
            DXGI_FORMAT_R8_SNORM,
            DXGI_FORMAT_R8G8B8A8_UNORM_SRGB,
            DXGI_FORMAT_B5G6R5_UNORM,
            DXGI_FORMAT_R16_UNORM,
            DXGI_FORMAT_R16_SNORM,
            DXGI_FORMAT_R16_FLOAT,
            DXGI_FORMAT_R10G10B10A2_UNORM,
            DXGI_FORMAT_R11G11B10_FLOAT,
        ];
        for (format, mode) in formats.into_iter().flat_map(|format| modes.map(|mode| (format, mode))) {
            let resolver = Resolver::new(format, mode).expect("a format that resolves");
            let size = resolver.texel_bytes as usize;
            // All patterns of two bytes. For larger texels every seventh, which covers all values of each byte.
            for low in (0..=u16::MAX).step_by(if size == 2 { 1 } else { 7 }) {
                let sample = u32::from(low).wrapping_mul(0x0001_0001).to_le_bytes();
                let sample = &sample[..size];
                let is_number = match format {
                    DXGI_FORMAT_R16_FLOAT => low & 0x7c00 != 0x7c00,
                    DXGI_FORMAT_R11G11B10_FLOAT => {
                        let bits = u32::from_le_bytes(sample.try_into().expect("four bytes"));
                        [bits >> 6, bits >> 17, bits >> 27].iter().all(|exponent| exponent & 31 != 31)
                    }
                    _ => true,
                };
                // -128 and -127 both represent -1.
                let is_twice = matches!(format, DXGI_FORMAT_R8_SNORM) && low & 0xff == 0x80
                    || matches!(format, DXGI_FORMAT_R16_SNORM) && low == 0x8000;
                if is_number && !is_twice {
                    let mut texel = vec![0; size];
                    resolver.resolve(&sample.repeat(4), &mut texel);
                    assert_eq!(texel, sample, "{format} {mode:?}");
                }
            }
        }
    }

    #[test]
    fn averages_are_computed_from_decoded_values() {
        let average = ResolveMode::Average;
        assert_eq!(resolved(DXGI_FORMAT_R8_UNORM, average, &[0, 0, 0, 255]), [64], "63.75");
        assert_eq!(resolved(DXGI_FORMAT_R8_SNORM, average, &[0x81, 0x7f]), [0]);
        assert_eq!(resolved(DXGI_FORMAT_R8_SNORM, average, &[0x80, 0x81]), [0x81], "both are -1");
        // Half of linear light is 188 in sRGB; alpha is linear.
        let srgb = [0, 255, 0, 0, 255, 255, 0, 255];
        assert_eq!(resolved(DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, average, &srgb), [188, 255, 0, 128]);
        let halves = [0x00, 0x3c, 0x00, 0x40];
        assert_eq!(resolved(DXGI_FORMAT_R16_FLOAT, average, &halves), [0x00, 0x3e], "1 and 2");
        let floats = [1.5_f32, -0.5].map(f32::to_le_bytes).concat();
        assert_eq!(resolved(DXGI_FORMAT_R32_FLOAT, average, &floats), 0.5_f32.to_le_bytes());
        let depths = [0xff_fffe_u32, 0xab00_0000].map(u32::to_le_bytes).concat();
        let depth = resolved(DXGI_FORMAT_R24_UNORM_X8_TYPELESS, average, &depths);
        assert_eq!(depth, 0x7f_ffff_u32.to_le_bytes(), "the upper byte is not depth's");
        let infinite = [f32::INFINITY, 1.0].map(f32::to_le_bytes).concat();
        assert_eq!(resolved(DXGI_FORMAT_R32_FLOAT, average, &infinite), f32::INFINITY.to_le_bytes());
        assert_eq!(resolved(DXGI_FORMAT_R32_FLOAT, average, &[]), [0; 4]);
    }

    #[test]
    fn minimum_and_maximum_are_per_channel() {
        let (min, max) = (ResolveMode::Min, ResolveMode::Max);
        let samples = [1, 200, 3, 100];
        assert_eq!(resolved(DXGI_FORMAT_R8G8_UINT, min, &samples), [1, 100]);
        assert_eq!(resolved(DXGI_FORMAT_R8G8_UINT, max, &samples), [3, 200]);
        assert_eq!(resolved(DXGI_FORMAT_R8G8_SINT, max, &samples), [3, 100], "200 is -56");
        let floats = [f32::NAN, -1.0, 2.0].map(f32::to_le_bytes).concat();
        assert_eq!(resolved(DXGI_FORMAT_R32_FLOAT, min, &floats), (-1.0_f32).to_le_bytes());
        assert_eq!(resolved(DXGI_FORMAT_R32_FLOAT, max, &floats), 2.0_f32.to_le_bytes());
    }

    #[test]
    fn integers_have_no_average_and_typeless_formats_no_resolve() {
        assert_eq!(Resolver::new(DXGI_FORMAT_R8_UINT, ResolveMode::Average), None);
        assert_eq!(Resolver::new(DXGI_FORMAT_R32_TYPELESS, ResolveMode::Min), None);
        assert_eq!(Resolver::new(DXGI_FORMAT_BC1_UNORM, ResolveMode::Max), None);
        assert_eq!(Resolver::new(DXGI_FORMAT_R9G9B9E5_SHAREDEXP, ResolveMode::Average), None);
    }
}
