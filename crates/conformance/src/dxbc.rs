//! Containers of shaders and root signatures, in the format DXBC, and an assembler of tokens for shader model 5.0.
//!
//! The tokens are those of d3d11TokenizedProgramFormat.hpp; the parts of a root signature are those that LLVM documents
//! (DXContainer.rst).

/// Returns a container with parts, each with its name of four letters.
pub(crate) fn container(parts: &[(&[u8; 4], Vec<u32>)]) -> Vec<u8> {
    let size = |words: usize| u32::try_from(words * 4).unwrap_or(0);
    let count = u32::try_from(parts.len()).unwrap_or(0);
    let (mut offsets, mut body) = (Vec::new(), Vec::new());
    for (name, words) in parts {
        offsets.push(32 + 4 * count + size(body.len()));
        body.extend([u32::from_le_bytes(**name), size(words.len())]);
        body.extend(words);
    }
    let mut hashed = vec![1, 32 + 4 * count + size(body.len()), count];
    hashed.extend(offsets);
    hashed.extend(body);
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let hashed = bytes(&hashed);
    [b"DXBC".to_vec(), bytes(&checksum(&hashed)), hashed].concat()
}

/// Returns the checksum of a container: MD5, but with the length before the rest of the data and a second length at the
/// end.
fn checksum(data: &[u8]) -> [u32; 4] {
    let length = |factor: usize| u32::try_from(data.len() * factor).unwrap_or(0);
    let (blocks, rest) = data.as_chunks::<64>();
    let mut last = [length(8).to_le_bytes().to_vec(), rest.to_vec(), vec![0x80]].concat();
    if rest.len() >= 56 {
        last =
            [rest.to_vec(), vec![0x80], vec![0; 63 - rest.len()], length(8).to_le_bytes().to_vec()].concat();
    }
    last.resize(last.len().next_multiple_of(64) - 4, 0);
    last.extend((length(2) | 1).to_le_bytes());
    let state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    blocks.iter().chain(last.as_chunks().0).fold(state, md5_round)
}

/// MD5's function of a block.
fn md5_round(state: [u32; 4], block: &[u8; 64]) -> [u32; 4] {
    const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let words = block.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<u32>>();
    let [mut a, mut b, mut c, mut d] = state;
    for step in 0..64_usize {
        let (mixed, word) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(sine(step)).wrapping_add(words[word % 16]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(ROTATIONS[step / 16][step % 4]));
    }
    [a, b, c, d]
        .iter()
        .zip(state)
        .map(|(new, old)| new.wrapping_add(old))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or(state)
}

/// Returns MD5's constant of a step: the first 32 binary places of a sine.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "MD5's constants are truncated")]
fn sine(step: usize) -> u32 {
    let angle = f64::from(u32::try_from(step).unwrap_or(0) + 1);
    (angle.sin().abs() * 4_294_967_296.0) as u32
}

/// A register, or a number.
#[derive(Clone, Copy)]
pub(crate) enum Operand {
    /// Some components of a temporary register, as a mask.
    To(u32, u32),
    /// One component of a temporary register.
    Temp(u32, u32),
    /// The four components of a temporary register.
    Vector(u32),
    /// One component of the index of the thread.
    Thread(u32),
    Number(u32),
    /// A shader resource view: its register.
    Readable(u32),
    /// An unordered access view, as the destination of its first component.
    Unordered(u32),
}

impl Operand {
    fn tokens(self) -> Vec<u32> {
        /// Operands of four components, by the way in which they are selected.
        const MASK: u32 = 0x2;
        const SWIZZLE: u32 = 0x6;
        const ONE: u32 = 0xa;
        /// All four components in their order.
        const XYZW: u32 = 0xe4 << 4;
        const INDEXED: u32 = 1 << 20;
        match self {
            Self::To(register, mask) => vec![MASK | mask << 4 | INDEXED, register],
            Self::Temp(register, component) => vec![ONE | component << 4 | INDEXED, register],
            Self::Vector(register) => vec![SWIZZLE | XYZW | INDEXED, register],
            Self::Thread(component) => vec![ONE | component << 4 | 0x20 << 12],
            Self::Number(value) => vec![1 | 4 << 12, value],
            Self::Readable(register) => vec![SWIZZLE | XYZW | 7 << 12 | INDEXED, register],
            Self::Unordered(register) => vec![MASK | 1 << 4 | 0x1e << 12 | INDEXED, register],
        }
    }
}

/// A compute shader of model 5.0 that is being assembled.
pub(crate) struct Assembly(Vec<u32>);

impl Assembly {
    /// Begins a shader with `threads` by 1 by 1 threads in a group, two temporary registers, and the index of the
    /// thread.
    pub(crate) fn new(threads: u32, declarations: &[Declaration]) -> Self {
        let mut shader = Self(Vec::new());
        shader.token(0x6a | 1 << 11, &[]); // dcl_globalFlags refactoringAllowed
        for declaration in declarations {
            match *declaration {
                Declaration::Texture(register) => {
                    // A TEXTURE2D of four UINTs.
                    shader.token(0x58 | 3 << 11, &[7 << 12 | 1 << 20, register, 0x4444]);
                }
                Declaration::Readable(register) => shader.token(0xa1, &[7 << 12 | 1 << 20, register]),
                Declaration::Unordered(register) => shader.token(0x9d, &[0x1e << 12 | 1 << 20, register]),
            }
        }
        shader.token(0x5f, &[0x2 | 0x7 << 4 | 0x20 << 12]); // dcl_input vThreadID.xyz
        shader.token(0x68, &[2]); // dcl_temps
        shader.token(0x9b, &[threads, 1, 1]); // dcl_thread_group
        shader
    }

    fn token(&mut self, opcode: u32, rest: &[u32]) {
        let length = u32::try_from(rest.len() + 1).unwrap_or(0);
        self.0.push(opcode | length << 24);
        self.0.extend(rest);
    }

    /// Adds an instruction. The destination is the first operand.
    pub(crate) fn add(mut self, instruction: Instruction, operands: &[Operand]) -> Self {
        let tokens: Vec<u32> = operands.iter().flat_map(|operand| operand.tokens()).collect();
        self.token(instruction as u32, &tokens);
        self
    }

    /// Ends the shader and returns its container.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.token(0x3e, &[]); // ret
        let none = vec![0, 8];
        container(&[(b"ISGN", none.clone()), (b"OSGN", none), (b"SHEX", program(5, self.0))])
    }
}

/// Returns the part of a program of model 5.0: its kind, its length and its tokens.
pub(crate) fn program(kind: u32, tokens: Vec<u32>) -> Vec<u32> {
    let length = u32::try_from(tokens.len() + 2).unwrap_or(0);
    [vec![kind << 16 | 0x50, length], tokens].concat()
}

/// A declaration of a shader.
#[derive(Clone, Copy)]
pub(crate) enum Declaration {
    /// A 2D texture of integers.
    Texture(u32),
    /// A raw buffer that is read.
    Readable(u32),
    /// A raw buffer that is written.
    Unordered(u32),
}

/// The instructions that the checks need, by opcode.
#[derive(Clone, Copy)]
pub(crate) enum Instruction {
    /// Multiplies two integers and adds a third.
    Imad = 0x23,
    /// Shifts to the left.
    Ishl = 0x29,
    /// Reads a texel: address, resource.
    Ld = 0x2d,
    Mov = 0x36,
    /// Reads from a raw buffer: address, buffer.
    LdRaw = 0xa5,
    /// Writes to a raw buffer: address, value.
    StoreRaw = 0xa6,
}

/// A parameter of a root signature.
#[derive(Clone, Copy)]
pub(crate) enum Parameter {
    /// The address of the buffer of a shader resource view.
    Readable(u32),
    /// The address of the buffer of an unordered access view.
    Unordered(u32),
    /// A table with one shader resource view.
    ReadableTable(u32),
    /// A table with one unordered access view.
    UnorderedTable(u32),
}

/// Returns the container of a root signature of version 1.0.
pub(crate) fn root_signature(parameters: &[Parameter], flags: u32) -> Vec<u8> {
    const HEADER: usize = 6;
    let size = |words: usize| u32::try_from(words * 4).unwrap_or(0);
    let (mut entries, mut values) = (Vec::new(), Vec::new());
    for parameter in parameters {
        let offset = size(HEADER + 3 * parameters.len() + values.len());
        let (kind, value) = match *parameter {
            Parameter::Readable(register) => (3, vec![register, 0]),
            Parameter::Unordered(register) => (4, vec![register, 0]),
            // One range: its kind, one descriptor, the register, the space, and the offset in the table.
            Parameter::ReadableTable(register) => (0, vec![1, offset + 8, 0, 1, register, 0, 0]),
            Parameter::UnorderedTable(register) => (0, vec![1, offset + 8, 1, 1, register, 0, 0]),
        };
        entries.extend([kind, 0, offset]);
        values.extend(value);
    }
    let count = u32::try_from(parameters.len()).unwrap_or(0);
    let end = size(HEADER + entries.len() + values.len());
    container(&[(b"RTS0", [vec![1, count, size(HEADER), 0, end, flags], entries, values].concat())])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wine's D3D12SerializeRootSignature writes the same container.
    #[test]
    fn the_empty_root_signature_is_that_of_wine() {
        let empty = root_signature(&[], 1);
        let words: Vec<u32> = empty.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let header = [0x4342_5844, 0x05bb_d62e, 0xc74d_3646, 0xde14_07a5, 0x0d99_273d, 1, 0x44, 1, 0x24];
        let signature = [0x3053_5452, 0x18, 1, 0, 0x18, 0, 0x18, 1];
        assert_eq!(words, [&header[..], &signature[..]].concat());
    }
}
