//! Reads `model.safetensors`: a table of names, types, shapes and offsets, then the numbers.
//!
//! The table is untrusted: each tensor is checked against the file and the expected shape, then read alone, so that at
//! most one is in memory twice. Does not depend on layers.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use candle_core::{DType, Device, Tensor};
use serde_json::{Map, Value};

use super::fields::excerpt;
use super::folder::{ModelFolder, WEIGHTS_FILE, WEIGHTS_INDEX_FILE, WEIGHTS_SIZE_BYTES_MAX, io};
use crate::models::error::ModelError;

/// Largest table of names.
const TABLE_SIZE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most files that the weights may be spread over.
const FILE_COUNT_MAX: usize = 64;
/// Bytes that are read and converted at a time; a multiple of every number's size.
const CHUNK_BYTES: usize = 1024 * 1024;
/// Length of the number that begins the file.
const LENGTH_BYTES: u64 = 8;

/// All weights of a folder, still on disk.
pub struct Weights<'a> {
    folder: &'a ModelFolder,
    tensors: HashMap<String, Place>,
    /// The prefix of all names of the encoder.
    prefix: String,
}

/// File and byte range of a tensor.
#[derive(Debug, Clone)]
struct Place {
    file: String,
    number: DType,
    shape: Vec<usize>,
    start: u64,
    bytes: u64,
}

impl<'a> Weights<'a> {
    /// Reads the tables of all files of the folder.
    pub fn open(folder: &'a ModelFolder) -> Result<Self, ModelError> {
        let mut tensors = HashMap::new();
        for name in weight_files(folder)? {
            read_table(folder, &name, &mut tensors)?;
        }
        Ok(Self { folder, tensors, prefix: String::new() })
    }

    /// Lets all further names begin with `prefix`, if those of the file do.
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        if self.tensors.keys().any(|name| name.starts_with(prefix)) {
            prefix.clone_into(&mut self.prefix);
        }
        self
    }

    /// A error of the weights of one part.
    pub fn error(&self, part: &str, found: &str) -> ModelError {
        self.folder.error(WEIGHTS_FILE, part, "weights that fit together", found)
    }

    /// A tensor of exactly that shape, in single precision.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let place = self.place(name, shape)?;
        let numbers = self.numbers(name, place)?;
        let tensor = Tensor::from_vec(numbers, shape, &Device::Cpu);
        tensor.map_err(|error| self.folder.error(&place.file, name, "a tensor", &error.to_string()))
    }

    fn place(&self, name: &str, shape: &[usize]) -> Result<&Place, ModelError> {
        let full = format!("{}{name}", self.prefix);
        // Checkpoints from before PyTorch call the parts of a normalisation gamma and beta.
        let old =
            full.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
        let place = self.tensors.get(&full).or_else(|| self.tensors.get(&old)).ok_or_else(|| {
            self.folder.error(WEIGHTS_FILE, "tensors", &format!("one named {full}"), "none of that name")
        })?;
        if place.shape != shape {
            let found = format!("{:?}", place.shape);
            return Err(self.folder.error(&place.file, &full, &format!("shape {shape:?}"), &found));
        }
        Ok(place)
    }

    fn numbers(&self, name: &str, place: &Place) -> Result<Vec<f32>, ModelError> {
        let path = self.folder.file(&place.file);
        let mut file = File::open(&path).map_err(io(&path, "open it"))?;
        file.seek(SeekFrom::Start(place.start)).map_err(io(&path, "read a tensor"))?;
        let unreadable =
            |error: candle_core::Error| self.folder.error(&place.file, name, "numbers", &error.to_string());
        let mut left = usize::try_from(place.bytes).unwrap_or(usize::MAX);
        let mut numbers = Vec::with_capacity(left / place.number.size_in_bytes());
        let mut chunk = vec![0_u8; CHUNK_BYTES.min(left)];
        while left > 0 {
            chunk.truncate(left);
            file.read_exact(&mut chunk).map_err(io(&path, "read a tensor"))?;
            left = left.saturating_sub(chunk.len());
            if place.number == DType::F32 {
                let (quads, _) = chunk.as_chunks::<4>();
                numbers.extend(quads.iter().map(|bytes| f32::from_le_bytes(*bytes)));
                continue;
            }
            let count = chunk.len() / place.number.size_in_bytes();
            let part = Tensor::from_raw_buffer(&chunk, place.number, &[count], &Device::Cpu)
                .and_then(|part| part.to_dtype(DType::F32)?.to_vec1::<f32>())
                .map_err(unreadable)?;
            numbers.extend(part);
        }
        Ok(numbers)
    }
}

/// Names of the files that hold weights.
pub fn weight_files(folder: &ModelFolder) -> Result<Vec<String>, ModelError> {
    if folder.has(WEIGHTS_FILE) {
        return Ok(vec![WEIGHTS_FILE.to_owned()]);
    }
    let Some(index) = folder.optional_json(WEIGHTS_INDEX_FILE)? else {
        if folder.has("pytorch_model.bin") || folder.has("pytorch_model.bin.index.json") {
            return Err(ModelError::PickleOnly { path: folder.path().to_owned() });
        }
        return Err(folder.error("", "contents", WEIGHTS_FILE, "none"));
    };
    let map = index.get("weight_map").and_then(Value::as_object);
    let map = map.ok_or_else(|| index.wrong("weight_map", "an object"))?;
    let mut names: Vec<String> = map.values().filter_map(Value::as_str).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    let plain = |name: &String| !name.contains(['/', '\\']) && name.ends_with(".safetensors");
    if names.is_empty() || names.len() > FILE_COUNT_MAX || !names.iter().all(plain) {
        let expected = "names of 1 to 64 .safetensors files beside it";
        return Err(index.error("weight_map", expected, &names.join(", ")));
    }
    Ok(names)
}

/// Reads the table of one file and checks that every tensor lies inside the file and is as long as its shape says.
fn read_table(
    folder: &ModelFolder,
    name: &str,
    tensors: &mut HashMap<String, Place>,
) -> Result<(), ModelError> {
    let path = folder.file(name);
    let (mut file, file_bytes) = folder.open_file(name, WEIGHTS_SIZE_BYTES_MAX)?;
    let mut length = [0_u8; 8];
    file.read_exact(&mut length).map_err(io(&path, "read the length of its table"))?;
    let table_bytes = u64::from_le_bytes(length);
    let data_start = LENGTH_BYTES.saturating_add(table_bytes);
    if table_bytes > TABLE_SIZE_BYTES_MAX || data_start > file_bytes {
        let expected = format!("at most {} bytes", TABLE_SIZE_BYTES_MAX.min(file_bytes));
        return Err(folder.error(name, "length of the table", &expected, &table_bytes.to_string()));
    }
    let mut table = vec![0_u8; usize::try_from(table_bytes).unwrap_or(0)];
    file.read_exact(&mut table).map_err(io(&path, "read its table"))?;
    let table: Map<String, Value> = serde_json::from_slice(&table)
        .map_err(|error| folder.error(name, "table", "a JSON object", &error.to_string()))?;
    for (tensor, entry) in table.iter().filter(|(tensor, _)| *tensor != "__metadata__") {
        // Buffers and other heads may have types that are not read; only what is asked for must be right.
        if let Some(number) = number_type(entry) {
            let place = place(name, entry, number, data_start, file_bytes).ok_or_else(|| {
                let expected = "a shape and offsets that fit together and lie inside the file";
                folder.error(name, tensor, expected, &excerpt(entry))
            })?;
            tensors.insert(tensor.clone(), place);
        }
    }
    Ok(())
}

fn number_type(entry: &Value) -> Option<DType> {
    match entry.get("dtype")?.as_str()? {
        "F32" => Some(DType::F32),
        "F16" => Some(DType::F16),
        "BF16" => Some(DType::BF16),
        _ => None,
    }
}

fn place(file: &str, entry: &Value, number: DType, data_start: u64, file_bytes: u64) -> Option<Place> {
    let shape = entry.get("shape")?.as_array()?.iter();
    let shape: Vec<usize> = shape.map(|size| usize::try_from(size.as_u64()?).ok()).collect::<Option<_>>()?;
    let offsets = entry.get("data_offsets")?.as_array()?;
    let [begin, end] = offsets.as_slice() else { return None };
    let (begin, end) = (begin.as_u64()?, end.as_u64()?);
    let bytes = end.checked_sub(begin)?;
    let count = shape.iter().try_fold(1_u64, |count, size| count.checked_mul(u64::try_from(*size).ok()?))?;
    let expected = count.checked_mul(u64::try_from(number.size_in_bytes()).ok()?)?;
    let inside = data_start.checked_add(end)? <= file_bytes;
    (inside && bytes == expected).then(|| Place {
        file: file.to_owned(),
        number,
        shape,
        start: data_start.saturating_add(begin),
        bytes,
    })
}
