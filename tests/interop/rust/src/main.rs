// SPDX-License-Identifier: MIT
//! Files of version 2 by the reference in Rust: written at random, read, and judged.
//!
//!     ztensor_reference write FOLDER SEED COUNT    random files; beside each, what it holds (.expected)
//!     ztensor_reference read FILE...               what a file holds, in the same words, all digests checked
//!     ztensor_reference judge FILE...              "ok" or the rule that it breaks, for each
//!
//! What a file holds is a line for each part: object, layout, shape, part, dtype, logical type or "-", and the SHA-256
//! of what it decodes to. Names have no spaces.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use ztensor::format::cbor::{self, Value};
use ztensor::read::shard_identity;
use ztensor::{DType, DigestAlgorithm, Error, Result, Source, Writer};

const SEEKABLE: &str = "zt.zstd-seekable/1";
const STORAGE: [DType; 12] = [
    DType::F64,
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U64,
    DType::U32,
    DType::U16,
    DType::U8,
];
const LOGICAL: [(&str, DType, u64); 9] = [
    ("bool", DType::U8, 1),
    ("f8_e4m3fn", DType::U8, 1),
    ("f8_e5m2", DType::U8, 1),
    ("f8_e4m3fnuz", DType::U8, 1),
    ("f8_e5m2fnuz", DType::U8, 1),
    ("f8_e8m0", DType::U8, 1),
    ("f4_e2m1", DType::U8, 1),
    ("complex64", DType::F32, 2),
    ("complex128", DType::F64, 2),
];

/// xorshift64*: the same files for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
    /// Compressible, at times.
    fn content(&mut self, count: u64) -> Vec<u8> {
        if self.one_in(3) {
            vec![self.next() as u8; count as usize]
        } else {
            self.bytes(count)
        }
    }
}

struct PartData {
    name: &'static str,
    dtype: DType,
    logical: Option<&'static str>,
    data: Vec<u8>,
}

struct Model {
    name: String,
    shape: Vec<u64>,
    layout: &'static str,
    attributes: Option<Value>,
    parts: Vec<PartData>,
}

fn part(
    name: &'static str,
    dtype: DType,
    logical: Option<&'static str>,
    data: Vec<u8>,
) -> PartData {
    PartData {
        name,
        dtype,
        logical,
        data,
    }
}

fn dense(random: &mut Random, name: String) -> Model {
    let mut shape: Vec<u64> = (0..random.below(5)).map(|_| 1 + random.below(8)).collect();
    if random.one_in(10) {
        shape.push(0);
    }
    let count: u64 = shape.iter().product();
    let data = if random.one_in(2) {
        let dtype = STORAGE[random.below(12) as usize];
        part("data", dtype, None, random.content(count * dtype.width()))
    } else {
        let (logical, dtype, each) = LOGICAL[random.below(9) as usize];
        let mut data = match logical {
            "f4_e2m1" => random.content(count.div_ceil(2)),
            _ => random.content(count * each * dtype.width()),
        };
        match (logical, data.last_mut()) {
            ("bool", _) => data.iter_mut().for_each(|each| *each &= 1),
            ("f4_e2m1", Some(last)) if count % 2 == 1 => *last &= 15,
            _ => {}
        }
        part("data", dtype, Some(logical), data)
    };
    let attributes = random.one_in(3).then(|| attributes(random));
    Model {
        name,
        shape,
        layout: "dense",
        attributes,
        parts: vec![data],
    }
}

fn value(random: &mut Random, depth: u64) -> Value {
    match random.below(if depth < 3 { 9 } else { 7 }) {
        0 => Value::Uint(random.next() >> random.below(64)),
        1 => Value::Nint(random.next() >> random.below(64)),
        2 => Value::Text("ä".repeat(random.below(20) as usize)),
        3 => Value::Bytes(random.bytes(random.0 % 30)),
        4 => Value::Bool(random.one_in(2)),
        5 => Value::Null,
        6 => Value::Float(match random.below(5) {
            0 => f64::from_bits(random.next()),
            1 => f64::from(f32::from_bits(random.next() as u32)),
            2 => random.below(100_000) as f64 / 64.0,
            3 => f64::from(random.below(3000) as f32) * 2f64.powi(-24),
            _ => [f64::NAN, f64::INFINITY, -0.0, 65504.0, 65520.0][random.below(5) as usize],
        }),
        7 => Value::Array(
            (0..random.below(4))
                .map(|_| value(random, depth + 1))
                .collect(),
        ),
        _ => cbor::map(
            (0..random.below(4))
                .map(|i| (format!("k{i}"), value(random, depth + 1)))
                .collect::<Vec<_>>(),
        ),
    }
}

fn attributes(random: &mut Random) -> Value {
    let count = random.below(5);
    cbor::map(
        (0..count)
            .map(|i| {
                (
                    format!("{}{i}", "a".repeat(random.below(30) as usize)),
                    value(random, 0),
                )
            })
            .collect::<Vec<_>>(),
    )
}

fn pack(numbers: &[u64], dtype: DType) -> Vec<u8> {
    let width = dtype.width() as usize;
    numbers
        .iter()
        .flat_map(|each| each.to_le_bytes()[..width].to_vec())
        .collect()
}

fn sparse(random: &mut Random, name: String) -> Model {
    let (rows, columns) = (random.below(8), 1 + random.below(8));
    let index = if random.one_in(2) {
        DType::U32
    } else {
        DType::U64
    };
    let mut cells: Vec<u64> = (0..rows * columns).filter(|_| random.one_in(3)).collect();
    let values = part(
        "values",
        DType::F32,
        None,
        random.bytes(4 * cells.len() as u64),
    );
    if random.one_in(2) {
        let pointers: Vec<u64> = (0..=rows)
            .map(|row| cells.iter().filter(|cell| **cell < row * columns).count() as u64)
            .collect();
        let indices: Vec<u64> = cells.iter().map(|cell| cell % columns).collect();
        let parts = vec![
            values,
            part("indices", index, None, pack(&indices, index)),
            part("indptr", index, None, pack(&pointers, index)),
        ];
        return Model {
            name,
            shape: vec![rows, columns],
            layout: "zt.sparse_csr/1",
            attributes: None,
            parts,
        };
    }
    cells.reverse();
    let coords: Vec<u64> = cells
        .iter()
        .map(|cell| cell / columns)
        .chain(cells.iter().map(|cell| cell % columns))
        .collect();
    let parts = vec![values, part("coords", index, None, pack(&coords, index))];
    Model {
        name,
        shape: vec![rows, columns],
        layout: "zt.sparse_coo/1",
        attributes: None,
        parts,
    }
}

fn quantized(random: &mut Random, name: String) -> Model {
    let along = 64 * (1 + random.below(3));
    match random.below(3) {
        0 => {
            let attributes = cbor::map([
                ("block_size", Value::Uint(32)),
                ("scale_form", "e8m0_exponent".into()),
            ]);
            let parts = vec![
                part("data", DType::U8, Some("f4_e2m1"), random.bytes(along)),
                part(
                    "scales",
                    DType::U8,
                    Some("f8_e8m0"),
                    random.bytes(along / 16),
                ),
            ];
            Model {
                name,
                shape: vec![2, along],
                layout: "zt.mx/1",
                attributes: Some(attributes),
                parts,
            }
        }
        1 => {
            let packed = random.one_in(2);
            let zeros = if packed {
                part("zeros", DType::U32, None, random.bytes(along / 16))
            } else {
                part("zeros", DType::I8, None, random.bytes(along / 8))
            };
            let packing = cbor::map([
                ("word", Value::from("u32")),
                ("order", "lsb_first".into()),
                ("per_word", Value::Uint(8)),
            ]);
            let zero = cbor::map([
                ("form", Value::from("tensor")),
                (
                    "packing",
                    if packed { "same_as_data" } else { "plain" }.into(),
                ),
            ]);
            let attributes = cbor::map([
                ("bits", Value::Uint(4)),
                ("group_size", Value::Uint(64)),
                ("axis", Value::Uint(0)),
                ("packing", packing),
                ("scale_form", "f16_factors".into()),
                ("zero_point", zero),
            ]);
            let parts = vec![
                part("data", DType::U32, None, random.bytes(along * 8 / 2)),
                part("scales", DType::F16, None, random.bytes(along / 8 * 2)),
                zeros,
            ];
            Model {
                name,
                shape: vec![along, 8],
                layout: "zt.quant_group/1",
                attributes: Some(attributes),
                parts,
            }
        }
        _ => {
            let attributes = cbor::map([("elems_per_block", 32u64), ("block_bytes", 34u64)]);
            let parts = vec![part(
                "data",
                DType::U8,
                None,
                random.bytes(along * 2 / 32 * 34),
            )];
            Model {
                name,
                shape: vec![2, along],
                layout: "gguf.q8_0/1",
                attributes: Some(attributes),
                parts,
            }
        }
    }
}

fn models(random: &mut Random, prefix: &str) -> Vec<Model> {
    let mut all: Vec<Model> = (0..random.below(7))
        .map(|i| {
            let name = format!("{prefix}{i}{}", "n".repeat(random.below(30) as usize));
            match random.below(5) {
                0 => sparse(random, name),
                1 => quantized(random, name),
                _ => dense(random, name),
            }
        })
        .collect();
    if random.one_in(3) && !all.is_empty() {
        // what two objects hold is stored once
        let data = all[0].parts[0].data.clone();
        let shape = vec![data.len() as u64];
        let parts = vec![part("data", DType::U8, None, data)];
        all.push(Model {
            name: format!("{prefix}z"),
            shape,
            layout: "dense",
            attributes: None,
            parts,
        });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn note(expected: &mut String, model: &Model) {
    let mut parts: Vec<&PartData> = model.parts.iter().collect();
    parts.sort_by_key(|each| each.name);
    for each in parts {
        line(
            expected,
            &model.name,
            model.layout,
            &model.shape,
            each.name,
            each.dtype,
            each.logical,
            &each.data,
        );
    }
}

#[allow(clippy::too_many_arguments)]
fn line(
    out: &mut String,
    name: &str,
    layout: &str,
    shape: &[u64],
    part: &str,
    dtype: DType,
    logical: Option<&str>,
    data: &[u8],
) {
    let digits: String = Sha256::digest(data)
        .iter()
        .map(|each| format!("{each:02x}"))
        .collect();
    writeln!(
        out,
        "{name} {layout} {shape:?} {part} {dtype} {} {digits}",
        logical.unwrap_or("-")
    )
    .unwrap();
}

fn add(random: &mut Random, writer: &mut Writer, model: &Model, may_encode: bool) -> Result<()> {
    let encoded: Vec<bool> = model
        .parts
        .iter()
        .map(|_| may_encode && random.one_in(3))
        .collect();
    writer.object(&model.name, |mut object| {
        object = object.shape(model.shape.clone()).layout(model.layout);
        if let Some(attributes) = &model.attributes {
            object = object.attributes(attributes.clone());
        }
        for (each, encode) in model.parts.iter().zip(&encoded) {
            object = object.part(each.name, |mut part| {
                part = part.dtype(each.dtype).bytes(&each.data);
                if let Some(logical) = each.logical {
                    part = part.logical(logical);
                }
                if *encode {
                    part.encoding(SEEKABLE)
                } else {
                    part
                }
            });
        }
        object
    })
}

/// A file of one kind after the other: canonical; aligned and compressed; appended to; with shards.
fn write_one(random: &mut Random, path: &Path, kind: u64) -> Result<String> {
    let mut expected = String::new();
    let _ = std::fs::remove_file(path);
    if kind == 0 {
        let mut writer = Writer::create(path)?;
        if random.one_in(2) {
            writer.set_attributes(attributes(random));
        }
        for model in models(random, "canonical/") {
            note(&mut expected, &model);
            add(random, &mut writer, &model, false)?;
        }
        writer.finish()?;
        return Ok(expected);
    }
    if kind == 3 {
        return write_sharded(random, path);
    }
    let mut writer = Writer::options()
        .canonical(false)
        .align(4096 << random.below(5))
        .create(path)?;
    for model in models(random, "first/") {
        note(&mut expected, &model);
        add(random, &mut writer, &model, true)?;
    }
    writer.finish()?;
    for generation in 0..if kind == 2 { 1 + random.below(3) } else { 0 } {
        let mut writer = Writer::append(path)?;
        if random.one_in(2) {
            writer.set_attributes(attributes(random));
        }
        for model in models(random, &format!("later{generation}/")) {
            note(&mut expected, &model);
            add(random, &mut writer, &model, true)?;
        }
        writer.finish()?;
    }
    Ok(expected)
}

fn write_sharded(random: &mut Random, path: &Path) -> Result<String> {
    let mut expected = String::new();
    let stem = path.with_extension("");
    let mut root = Writer::options().canonical(false).create(path)?;
    for number in 1..=1 + random.below(3) {
        let name = format!("{number:05}");
        let shard = PathBuf::from(format!("{}-{name}.zt", stem.display()));
        let all = models(random, &format!("shard{number}/"));
        let canonical = random.one_in(2);
        let mut writer = Writer::options().canonical(canonical).create(&shard)?;
        for model in &all {
            add(random, &mut writer, model, !canonical)?;
        }
        writer.finish()?;
        let algorithm = if random.one_in(2) {
            DigestAlgorithm::Sha256
        } else {
            DigestAlgorithm::Xxh3
        };
        root.add_shard(&name, &shard_identity(&shard, algorithm)?)?;
        let manifest = ztensor::read::manifest_of(&shard)?.expect("a shard with a manifest");
        for model in &all {
            note(&mut expected, model);
            root.link(&model.name, manifest.object(&model.name)?, &name)?;
        }
    }
    for model in models(random, "own/") {
        note(&mut expected, &model);
        add(random, &mut root, &model, true)?;
    }
    root.finish()?;
    Ok(expected)
}

fn describe(path: &Path) -> Result<String> {
    let source = Source::open(path)?;
    source.verify_shards()?;
    let mut out = String::new();
    for tensor in source.tensors() {
        for name in tensor.parts() {
            let part = tensor.part(name)?;
            part.verify()?;
            line(
                &mut out,
                tensor.name(),
                tensor.layout(),
                tensor.shape(),
                name,
                part.dtype(),
                part.logical(),
                &part.bytes()?,
            );
        }
    }
    Ok(out)
}

fn judge(path: &Path) -> String {
    let verdict = Source::open(path).and_then(|source| {
        for tensor in source.tensors() {
            for name in tensor.parts() {
                match tensor.part(name)?.verify() {
                    Err(Error::Unsupported(_)) => {}
                    other => drop(other?),
                }
            }
        }
        Ok(())
    });
    match verdict {
        Ok(()) => "ok".into(),
        Err(Error::Reject { rule, detail }) => format!("{rule:?} {detail}"),
        Err(other) => format!("other {other}"),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("write") => {
            let (folder, seed, count) = (
                PathBuf::from(&words[1]),
                words[2].parse::<u64>().unwrap(),
                words[3].parse::<u64>().unwrap(),
            );
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            for i in 0..count {
                let path = folder.join(format!("{i:04}.zt"));
                let mut expected: Vec<String> = write_one(&mut random, &path, i % 4)
                    .unwrap_or_else(|why| panic!("{}: {why}", path.display()))
                    .lines()
                    .map(str::to_string)
                    .collect();
                expected.sort();
                std::fs::write(path.with_extension("expected"), expected.join("\n") + "\n")
                    .unwrap();
            }
        }
        Some("read") => {
            for path in &words[1..] {
                let mut lines: Vec<String> = match describe(Path::new(path)) {
                    Ok(text) => text.lines().map(str::to_string).collect(),
                    Err(why) => vec![format!("refused: {why}")],
                };
                lines.sort();
                println!("== {path}\n{}", lines.join("\n"));
            }
        }
        Some("judge") => {
            for path in &words[1..] {
                println!(
                    "{path}\t{}",
                    judge(Path::new(path)).replace(['\n', '\t'], " ")
                );
            }
        }
        _ => {
            eprintln!(
                "usage: ztensor_reference write FOLDER SEED COUNT | read FILE... | judge FILE..."
            );
            std::process::exit(2);
        }
    }
}
