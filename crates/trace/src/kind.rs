//! Recognizes files by their first bytes or keys, so that a foreign file is named.

use std::fmt;
use std::path::Path;

use crate::json_keys::top_level_keys;
use crate::session;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// Allocations and frees as [CSV](crate#format).
    Csv,
    /// Chrome trace events, as in a [capture](crate::gpgmm) of GPGMM.
    Capture,
    /// A binary [session].
    Session,
    /// A [memory snapshot](crate::snapshot) of PyTorch, or another pickle.
    Snapshot,
    /// The report of an allocator of heapwright.
    Report,
    /// A JSON dump of another allocator.
    Dump(DumpedBy),
    /// A frame of `heapwright plan`.
    Frame,
    /// A file of another program.
    Foreign(Foreign),
    /// Text or JSON that is not recognized.
    Unknown,
}

/// The library that wrote a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpedBy {
    /// D3D12 Memory Allocator: `Allocator::BuildStatsString`.
    D3d12ma,
    /// Vulkan Memory Allocator: `vmaBuildStatsString`.
    Vma,
    /// A virtual block of one of the two.
    VirtualBlock,
}

/// A file of another program, which is named in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    name: &'static str,
    advice: &'static str,
}

impl Foreign {
    const fn new(name: &'static str) -> Self {
        Self { name, advice: "" }
    }

    const fn with(name: &'static str, advice: &'static str) -> Self {
        Self { name, advice }
    }
}

impl FileKind {
    /// Number of first bytes that suffice, unless the file is text in brackets: JSON, HTML or XML.
    pub(crate) const FIRST_LEN: usize = 512;

    /// Number of first bytes of JSON, HTML and XML, whose keys may be anywhere.
    pub(crate) const FIRST_TEXT_LEN: usize = 64 << 10;

    /// Recognizes a file by its first uncompressed bytes, and by its extension if these tell nothing.
    pub(crate) fn of(path: &Path, first: &[u8]) -> Self {
        if let Some(foreign) = of_magic(first) {
            return Self::Foreign(foreign);
        }
        // A transfer as text damages the bytes that follow.
        if first.starts_with(&session::MAGIC[..2]) {
            return Self::Session;
        }
        if first.first() == Some(&0x80) && first.get(1).is_some_and(|version| (2..=5).contains(version)) {
            return Self::Snapshot;
        }
        if let Some(text) = utf16(first) {
            return match Self::of_text(text.as_bytes()) {
                // D3D12MA returns its dump in UTF-16.
                Self::Dump(library) => Self::Dump(library),
                _ => Self::Foreign(Foreign::with("text in UTF-16", "save it as UTF-8")),
            };
        }
        match Self::of_text(first) {
            Self::Unknown if is_binary(first) => Self::Foreign(
                of_extension(path).unwrap_or(Foreign::new("a binary file of an unknown format")),
            ),
            kind => kind,
        }
    }

    fn of_text(first: &[u8]) -> Self {
        let text = first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first).trim_ascii_start();
        match text.first() {
            Some(b'{' | b'[') => of_json(text),
            Some(b'<') => of_markup(text).map_or(Self::Unknown, Self::Foreign),
            _ => of_first_line(text),
        }
    }

    /// Returns what a user can do with a file of this kind, if it cannot be read.
    #[must_use]
    pub fn advice(self) -> Option<&'static str> {
        match self {
            Self::Foreign(Foreign { advice, .. }) if !advice.is_empty() => Some(advice),
            Self::Report | Self::Dump(_) => Some("`heapwright report` shows it"),
            Self::Frame => Some("`heapwright plan` reads it"),
            _ => None,
        }
    }

    /// Describes a file that was found where another kind was expected: `is a PNG image; expected a CSV trace`.
    #[must_use]
    pub fn instead_of(self, expected: impl fmt::Display) -> String {
        match self.advice() {
            Some(advice) => format!("is {self} ({advice}); expected {expected}"),
            None => format!("is {self}; expected {expected}"),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Csv => "a CSV trace",
            Self::Capture => "a Chrome trace",
            Self::Session => "a session of heapwright",
            Self::Snapshot => "a memory snapshot of PyTorch",
            Self::Report => "an allocator's report",
            Self::Dump(DumpedBy::D3d12ma) => "a dump of D3D12 Memory Allocator",
            Self::Dump(DumpedBy::Vma) => "a dump of Vulkan Memory Allocator",
            Self::Dump(DumpedBy::VirtualBlock) => "a dump of a virtual block",
            Self::Frame => "a frame",
            Self::Foreign(Foreign { name, .. }) => name,
            Self::Unknown => "a file of an unknown kind",
        })
    }
}

/// Byte order mark (U+FEFF) in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

const UNPACK: &str = "decompress it first; gzip is read as it is";

/// First bytes of files. A longer prefix precedes a shorter one.
const MAGIC: &[(&[u8], Foreign)] = &[
    // Compression and archives.
    (b"\x1f\x8b", Foreign::with("compressed with gzip twice", "decompress it once")),
    (b"\xfd7zXZ\0", Foreign::with("compressed with xz", UNPACK)),
    (b"\x5d\0\0", Foreign::with("compressed with lzma", UNPACK)),
    (b"\x28\xb5\x2f\xfd", Foreign::with("compressed with Zstandard", UNPACK)),
    (b"\x04\x22\x4d\x18", Foreign::with("compressed with LZ4", UNPACK)),
    (b"\xff\x06\0\0sNaPpY", Foreign::with("compressed with Snappy", UNPACK)),
    (b"BZh", Foreign::with("compressed with bzip2", UNPACK)),
    (b"\x78\x9c", Foreign::with("compressed with zlib", UNPACK)),
    (b"\x78\xda", Foreign::with("compressed with zlib", UNPACK)),
    (b"7z\xbc\xaf\x27\x1c", Foreign::with("a 7z archive", "unpack it first")),
    (b"Rar!\x1a\x07", Foreign::with("a RAR archive", "unpack it first")),
    (b"MSCF", Foreign::with("a cabinet archive", "unpack it first")),
    // Recordings of GPUs and of programs.
    (b"RDOC", Foreign::with("a capture of RenderDoc", NO_ALLOCATIONS)),
    (b"GFXR", Foreign::with("a capture of GFXReconstruct", NO_ALLOCATIONS)),
    (b"MINI", Foreign::with("a trace of Radeon Memory Visualizer", NO_ALLOCATIONS)),
    (b"AMD_RDF ", Foreign::with("a trace of AMD's developer tools", NO_ALLOCATIONS)),
    (b"B00P", Foreign::with("a profile of Radeon GPU Profiler", NO_ALLOCATIONS)),
    (b"NVR\0", Foreign::with("a report of Nsight Compute", NO_ALLOCATIONS)),
    (b"tr\xfdP", Foreign::with("a trace of Tracy", NO_ALLOCATIONS)),
    (b"tlZ\x04", Foreign::with("a trace of Tracy", NO_ALLOCATIONS)),
    (b"tZst", Foreign::with("a trace of Tracy", NO_ALLOCATIONS)),
    (b"PERFILE2", Foreign::with("a recording of perf", NO_ALLOCATIONS)),
    (b"MDMP", Foreign::new("a minidump")),
    // Tables, tensors and databases.
    (b"SQLite format 3\0", Foreign::with("an SQLite database", "export a table as CSV")),
    (b"PAR1", Foreign::with("a Parquet file", "export it as CSV")),
    (b"ARROW1", Foreign::with("an Arrow file", "export it as CSV")),
    (b"FEA1", Foreign::with("a Feather file", "export it as CSV")),
    (b"\x89HDF\r\n\x1a\n", Foreign::with("an HDF5 file", "export it as CSV")),
    (b"\x93NUMPY", Foreign::with("a NumPy array", "export it as CSV")),
    (b"GGUF", Foreign::new("a model in GGUF format")),
    // Programs.
    (b"\x7fELF", Foreign::new("an ELF program or library")),
    (b"MZ", Foreign::new("a Windows program or library")),
    (b"\xcf\xfa\xed\xfe", Foreign::new("a Mach-O program or library")),
    (b"\xca\xfe\xba\xbe", Foreign::new("a Mach-O program or a Java class")),
    (b"\0asm", Foreign::new("a WebAssembly module")),
    (b"Microsoft C/C++ MSF", Foreign::new("a PDB symbol file")),
    (b"DXBC", Foreign::new("a compiled shader")),
    (b"\x03\x02\x23\x07", Foreign::new("a SPIR-V shader")),
    (b"!<arch>\n", Foreign::new("a static library")),
    // Pictures and documents.
    (b"\x89PNG", Foreign::new("a PNG image")),
    (b"\xff\xd8\xff", Foreign::new("a JPEG image")),
    (b"GIF8", Foreign::new("a GIF image")),
    (b"DDS ", Foreign::new("a DDS texture")),
    (b"\xabKTX ", Foreign::new("a KTX texture")),
    (b"II*\0", Foreign::new("a TIFF image")),
    (b"MM\0*", Foreign::new("a TIFF image")),
    (b"%PDF-", Foreign::new("a PDF document")),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        Foreign::with("a file of Microsoft Office or a compound file", "export it as CSV"),
    ),
];

const NO_ALLOCATIONS: &str = "it cannot be converted; record the program with HEAPWRIGHT_RECORD=session.hws";

fn of_magic(first: &[u8]) -> Option<Foreign> {
    if first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06") {
        return Some(of_zip(first));
    }
    if first.starts_with(b"RIFF") {
        let is_webp = first.get(8..12) == Some(b"WEBP");
        return Some(Foreign::new(if is_webp { "a WebP image" } else { "a RIFF file" }));
    }
    // A bitmap's header has its size and 4 zeros behind the two letters.
    if first.starts_with(b"BM") && first.get(6..10) == Some(&[0; 4]) {
        return Some(Foreign::new("a BMP image"));
    }
    if first.get(257..262) == Some(b"ustar") {
        return Some(Foreign::with("a tar archive", "unpack it first"));
    }
    // A container of chunks, each with its length.
    let chunk = first.strip_prefix(b"at").and_then(|length| length.first_chunk());
    if chunk.is_some_and(|&length| u32::from_le_bytes(length) <= 2 << 20) {
        return Some(Foreign::with("a trace of apitrace", NO_ALLOCATIONS));
    }
    // The length of the JSON that follows it.
    let header = first.split_first_chunk();
    if header.is_some_and(|(&length, json)| u64::from_le_bytes(length) < 1 << 32 && json.starts_with(b"{\""))
    {
        return Some(Foreign::new("a model in Safetensors format"));
    }
    let (magic, foreign) = MAGIC.iter().find(|(magic, _)| first.starts_with(magic))?;
    // Few letters may also begin the title of a column.
    let may_be_title = magic.len() <= 4 && magic.iter().all(u8::is_ascii_graphic);
    let line = first.split(|&byte| byte == b'\n').next().unwrap_or_default();
    (!may_be_title || is_binary(first) || !line.contains(&b',')).then_some(*foreign)
}

/// Names a ZIP archive by the name of its first file, which follows a header of 30 bytes.
fn of_zip(first: &[u8]) -> Foreign {
    let len = first.get(26..28).and_then(|len| len.first_chunk()).map_or(0, |&len| u16::from_le_bytes(len));
    let rest = first.get(30..).unwrap_or_default();
    let name = &rest[..rest.len().min(len.into())];
    if name.ends_with(b"data.pkl") {
        Foreign::with(
            "a checkpoint of PyTorch, which has no history of its memory",
            "torch.cuda.memory._dump_snapshot writes one",
        )
    } else if name.ends_with(b".npy") {
        Foreign::with("an archive of NumPy arrays", "export it as CSV")
    } else if name.starts_with(b"[Content_Types]") {
        Foreign::with("a document of Microsoft Office", "export it as CSV")
    } else {
        Foreign::with("a ZIP archive", "unpack it first")
    }
}

/// Files whose first bytes are not documented, by extension.
const EXTENSIONS: &[(&str, Foreign)] = &[
    ("wpix", Foreign::with("a capture of PIX", NO_ALLOCATIONS)),
    ("nsys-rep", Foreign::with("a report of Nsight Systems", NO_ALLOCATIONS)),
    ("qdrep", Foreign::with("a report of Nsight Systems", NO_ALLOCATIONS)),
    ("ncu-rep", Foreign::with("a report of Nsight Compute", NO_ALLOCATIONS)),
    ("ngfx-capture", Foreign::with("a capture of Nsight Graphics", NO_ALLOCATIONS)),
    ("ngfx-gputrace", Foreign::with("a trace of Nsight Graphics", NO_ALLOCATIONS)),
    ("rmv", Foreign::with("a trace of Radeon Memory Visualizer", NO_ALLOCATIONS)),
    ("rgp", Foreign::with("a profile of Radeon GPU Profiler", NO_ALLOCATIONS)),
    ("etl", Foreign::with("a trace of Event Tracing for Windows", NO_ALLOCATIONS)),
    ("pftrace", Foreign::with("a binary trace of Perfetto", NO_ALLOCATIONS)),
    ("perfetto-trace", Foreign::with("a binary trace of Perfetto", NO_ALLOCATIONS)),
    ("onnx", Foreign::new("a model in ONNX format")),
];

fn of_extension(path: &Path) -> Option<Foreign> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let extension = name.rsplit_once('.')?.1;
    EXTENSIONS.iter().find(|&&(of, _)| of == extension).map(|&(_, foreign)| foreign)
}

/// Returns whether text never has such bytes.
fn is_binary(first: &[u8]) -> bool {
    first.iter().any(|&byte| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
}

/// Returns the text of a file in UTF-16 with a byte order mark, or whose first characters are ASCII.
fn utf16(first: &[u8]) -> Option<String> {
    let has_zeros_at = |odd: usize| {
        let beginning = first.get(..8).unwrap_or_default();
        !beginning.is_empty()
            && (0..).zip(beginning).all(|(place, &byte): (usize, _)| (byte == 0) == (place % 2 == odd))
    };
    if first.starts_with(b"\xff\xfe") || has_zeros_at(1) {
        Some(decode_utf16(first, false))
    } else if first.starts_with(b"\xfe\xff") || has_zeros_at(0) {
        Some(decode_utf16(first, true))
    } else {
        None
    }
}

/// Decodes UTF-16, without a byte order mark. What is invalid becomes the replacement character.
fn decode_utf16(bytes: &[u8], big_endian: bool) -> String {
    let units = bytes.chunks_exact(2).map(|unit| {
        let unit = [unit[0], unit[1]];
        if big_endian { u16::from_be_bytes(unit) } else { u16::from_le_bytes(unit) }
    });
    let characters = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
    let text: String = characters.collect();
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

/// Converts a whole file in UTF-16 to UTF-8. Other files are returned as they are.
pub(crate) fn to_utf8(bytes: Vec<u8>) -> Vec<u8> {
    match utf16(&bytes) {
        Some(text) => text.into_bytes(),
        None => bytes,
    }
}

fn of_markup(text: &[u8]) -> Option<Foreign> {
    let lower = text[..text.len().min(FileKind::FIRST_LEN)].to_ascii_lowercase();
    let contains = |part: &[u8]| memchr::memmem::find(&lower, part).is_some();
    Some(if contains(b"<meta name=\"generator\" content=\"heapwright\"") {
        Foreign::with("a page of heapwright", "the file from which it was made is read")
    } else if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
        Foreign::new("an HTML page")
    } else if contains(b"<svg") {
        Foreign::new("an SVG image")
    } else if lower.starts_with(b"<?xml") {
        Foreign::new("an XML document")
    } else {
        return None;
    })
}

fn of_first_line(text: &[u8]) -> FileKind {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if line.starts_with(b"Vulkan Memory Allocator,Calls recording") {
        let advice = "VmaReplay plays it; its calls have no sizes of images, so that it cannot be converted";
        return FileKind::Foreign(Foreign::with("a recording of Vulkan Memory Allocator's calls", advice));
    }
    // Pickles of Python 2, of which protocol 0 is text.
    if text.starts_with(b"(dp")
        || text.starts_with(b"(lp")
        || text.starts_with(b"}q")
        || text.starts_with(b"]q")
    {
        let advice = "write it with protocol 2 or later";
        return FileKind::Foreign(Foreign::with("a Python pickle of protocol 0 or 1", advice));
    }
    let mut titles = line.split(|&byte| byte == b',').map(|title| {
        let is_around = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"';
        let start = title.iter().position(|byte| !is_around(byte)).unwrap_or(title.len());
        let end = title.iter().rposition(|byte| !is_around(byte)).map_or(start, |last| last + 1);
        &title[start..end]
    });
    if titles.any(|title| title == b"time_us" || title == b"size_bytes") {
        FileKind::Csv
    } else {
        FileKind::Unknown
    }
}

fn of_json(text: &[u8]) -> FileKind {
    let keys = top_level_keys(text);
    let has = |key: &str| keys.contains(&key.as_bytes());
    let contains = |part: &str| memchr::memmem::find(text, part.as_bytes()).is_some();
    if has("traceEvents") || (text.starts_with(b"[") && (keys.is_empty() || has("ph"))) {
        let is_of_profiler = has("schemaVersion") || has("deviceProperties") || contains("\"cpu_op\"");
        let advice = "torch.cuda.memory._record_memory_history and _dump_snapshot write a memory snapshot, which is read";
        return if is_of_profiler {
            FileKind::Foreign(Foreign::with("a trace of torch.profiler", advice))
        } else {
            FileKind::Capture
        };
    }
    let has_segments = has("segments") && (contains("\"total_size\"") || contains("\"segment_type\""));
    if has("device_traces") || has_segments || (has("total_size") && has("blocks")) {
        return FileKind::Snapshot;
    }
    if has("schema") && contains("heapwright.report") {
        return FileKind::Report;
    }
    if has("TotalBytes") && has("Suballocations") {
        return FileKind::Dump(DumpedBy::VirtualBlock);
    }
    if has("MemoryInfo")
        || has("DefaultPools")
        || has("DetailedMap")
        || (has("Total") && has("Budget"))
        || is_old_vma(&keys)
    {
        let is_vulkan = contains("\"Vulkan\"") || contains("\"Heap 0\"");
        return FileKind::Dump(if is_vulkan { DumpedBy::Vma } else { DumpedBy::D3d12ma });
    }
    if has("resources") && has("passes") {
        return FileKind::Frame;
    }
    let foreign = if has("peak_live_bytes") || has("over_budget_frames") || has("peak_used_bytes") {
        Foreign::with("output of heapwright with --json", "the file from which it was made is read")
    } else if contains("speedscope") {
        Foreign::new("a profile of Speedscope")
    } else if has("asset") && (has("scenes") || has("meshes") || has("accessors")) {
        Foreign::new("a glTF scene")
    } else {
        return FileKind::Unknown;
    };
    FileKind::Foreign(foreign)
}

/// Dumps of Vulkan Memory Allocator before version 3 without a map have nothing but statistics.
fn is_old_vma(keys: &[&[u8]]) -> bool {
    keys.contains(&&b"Total"[..]) && keys.iter().any(|key| key.starts_with(b"Heap "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(first: impl AsRef<[u8]>) -> String {
        FileKind::of(Path::new("x"), first.as_ref()).to_string()
    }

    fn utf16_of(text: &str, big_endian: bool, mark: bool) -> Vec<u8> {
        let mark = if mark { "\u{feff}" } else { "" };
        let text = format!("{mark}{text}");
        text.encode_utf16()
            .flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    }

    #[test]
    fn files_that_are_read_are_recognized() {
        for (first, expected) in [
            (&b"time_us,event,id,size_bytes\n"[..], FileKind::Csv),
            (b"\xef\xbb\xbfname, \"id\",event,\"size_bytes\"", FileKind::Csv),
            (b"\x89HWS\r\n\x1a\n", FileKind::Session),
            (b" \n[", FileKind::Capture),
            (b"[\n {\"name\":\"x\",\"ph\":\"i\"", FileKind::Capture),
            (b"{\"displayTimeUnit\":\"ms\", \"traceEvents\": [", FileKind::Capture),
            (b"\x80\x04\x95", FileKind::Snapshot),
            (b"{\"segments\": [], \"device_traces\": []}", FileKind::Snapshot),
            (b"{\"segments\": [{\"device\": 0, \"total_size\": 2097152, ", FileKind::Snapshot),
            (b"[{\"device\": 0, \"address\": 5, \"total_size\": 2, \"blocks\": [", FileKind::Snapshot),
            (b"{\"schema\":\"heapwright.report\"", FileKind::Report),
            (b"{\"General\":{\"API\":\"Direct3D 12\"},\"MemoryInfo\":{", FileKind::Dump(DumpedBy::D3d12ma)),
            (b"{\"Total\":{},\"DEFAULT\":{},\"Budget\":{", FileKind::Dump(DumpedBy::D3d12ma)),
            (
                b"{\"General\":{\"API\":\"Vulkan\"},\"Total\":{},\"MemoryInfo\":{",
                FileKind::Dump(DumpedBy::Vma),
            ),
            (b"{\"Total\":{},\"Heap 0\":{", FileKind::Dump(DumpedBy::Vma)),
            (b"", FileKind::Unknown),
            (b"no report", FileKind::Unknown),
            (b"{\"heaps\":[", FileKind::Unknown),
            (b"{\"segments\":[{\"text\":\"spoken words\"", FileKind::Unknown),
        ] {
            assert_eq!(FileKind::of(Path::new("x"), first), expected, "{}", first.escape_ascii());
        }
        let dump = utf16_of("{\"General\":{\"API\":\"Direct3D 12\"},\"MemoryInfo\":{", false, true);
        assert_eq!(FileKind::of(Path::new("x"), &dump), FileKind::Dump(DumpedBy::D3d12ma));
    }

    #[test]
    fn foreign_files_are_named() {
        for (first, name) in [
            (&b"\xfd7zXZ\0\0\x04"[..], "compressed with xz"),
            (b"\x28\xb5\x2f\xfd\x24", "compressed with Zstandard"),
            (b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.csv", "a ZIP archive"),
            (
                b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0c\0\0\0net/data.pkl",
                "a checkpoint of PyTorch, which has no history of its memory",
            ),
            (b"RDOC\0\0\0\0", "a capture of RenderDoc"),
            (b"GFXR\0\0\0\0", "a capture of GFXReconstruct"),
            (b"at\x10\0\0\0", "a trace of apitrace"),
            (b"SQLite format 3\0\x10", "an SQLite database"),
            (b"PAR1\x15\x04", "a Parquet file"),
            (b"\x7fELF\x02\x01", "an ELF program or library"),
            (b"MZ\x90\0", "a Windows program or library"),
            (b"\x89PNG\r\n\x1a\n", "a PNG image"),
            (b"\x1f\x8b\x08", "compressed with gzip twice"),
            (b"<!DOCTYPE html>\n<html>", "an HTML page"),
            (
                b"Vulkan Memory Allocator,Calls recording\n1,8\n",
                "a recording of Vulkan Memory Allocator's calls",
            ),
            (b"{\"schemaVersion\": 1, \"traceEvents\": [", "a trace of torch.profiler"),
            (b"{\"resources\":[],\"passes\":[]}", "a frame"),
            (b"\0\0\0\0", "a binary file of an unknown format"),
            (b"attribute,value\n1,2\n", "a file of an unknown kind"),
            (b"BM,size\n1,2,3,4,5\n", "a file of an unknown kind"),
            (b"MZone,GGUF\n1,2\n", "a file of an unknown kind"),
        ] {
            assert_eq!(kind(first), name, "{}", first.escape_ascii());
        }
        let mut tar = [0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(kind(tar), "a tar archive");
        for (big_endian, mark) in [(false, true), (true, true), (false, false), (true, false)] {
            assert_eq!(kind(utf16_of("time_us,event,id", big_endian, mark)), "text in UTF-16");
        }
        assert_eq!(kind(b"\xff\xfe\0\0t\0\0\0"), "text in UTF-16");
        assert_eq!(FileKind::of(Path::new("a/b.wpix"), b"\x01\x02").to_string(), "a capture of PIX");
        assert_eq!(
            FileKind::of(Path::new("b.nsys-rep.gz"), b"\x01\x02").to_string(),
            "a report of Nsight Systems"
        );
    }

    /// Prefixes of any length are recognized, or not, without a panic.
    #[test]
    fn every_prefix_has_a_kind() {
        for (magic, _) in MAGIC {
            for len in 0..=magic.len() {
                FileKind::of(Path::new("x"), &magic[..len]);
            }
            assert!(
                matches!(FileKind::of(Path::new("x"), magic), FileKind::Foreign(_)),
                "{}",
                magic.escape_ascii()
            );
        }
    }
}
