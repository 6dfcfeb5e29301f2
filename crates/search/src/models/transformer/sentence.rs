//! Settings of a sentence-transformers folder: modules, pooling, length and prompts.
//!
//! Supports the layouts of releases 2 to 5. Does not depend on weights.

use serde_json::Value;

use super::fields::{Fields, excerpt};
use super::folder::{MODULES_FILE, ModelFolder};
use crate::models::error::ModelError;

/// `model_max_length` from here on means that nobody set it.
const UNSET_LENGTH_MIN: u64 = 1_000_000;
/// Longest prompt.
const PROMPT_LENGTH_BYTES_MAX: usize = 1_000;
/// Most modules.
const MODULE_COUNT_MAX: usize = 8;

/// How the vectors of tokens become the vector of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// That of the first token.
    Cls,
    Mean,
    /// The largest of each number.
    Max,
}

impl Pooling {
    /// As the folder calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cls => "cls",
            Self::Mean => "mean",
            Self::Max => "max",
        }
    }
}

/// The settings of the folder.
#[derive(Debug)]
pub struct SentenceSettings {
    /// The folder of the encoder's own files.
    pub encoder: ModelFolder,
    pub pooling: Pooling,
    pub normalise: bool,
    /// Tokens of a text at most, where the folder says it.
    pub length: Option<usize>,
    pub lower_case: bool,
    pub query_prompt: String,
    pub passage_prompt: String,
    /// Files that decide what vectors come out, relative to the folder.
    pub files: Vec<String>,
}

impl SentenceSettings {
    pub fn read(folder: &ModelFolder) -> Result<Self, ModelError> {
        let modules = Modules::read(folder)?;
        let sentence = modules.encoder.optional_json("sentence_bert_config.json")?;
        let length = match &sentence {
            Some(fields) => fields.optional_count("max_seq_length", 1..=usize::MAX)?,
            None => None,
        };
        let lower_case = sentence.as_ref().map_or(Ok(false), |fields| fields.flag("do_lower_case", false))?;
        let (pooling, include_prompt) = pooling(&folder.json(&modules.pooling_file)?)?;
        let prompts = folder.optional_json("config_sentence_transformers.json")?;
        let prompt = |names: &[&str]| prompts.as_ref().map_or(Ok(String::new()), |file| prompt(file, names));
        let settings = Self {
            length: match length {
                Some(length) => Some(length),
                None => tokenizer_length(&modules.encoder)?,
            },
            encoder: modules.encoder,
            pooling,
            normalise: modules.normalise,
            lower_case,
            query_prompt: prompt(&["query"])?,
            passage_prompt: prompt(&["passage", "document"])?,
            files: modules.files,
        };
        let prompted = !settings.query_prompt.is_empty() || !settings.passage_prompt.is_empty();
        if prompted && !include_prompt {
            return Err(folder.error(&modules.pooling_file, "include_prompt", "true", "false, with prompts"));
        }
        Ok(settings)
    }
}

/// `model_max_length` of `tokenizer_config.json`, where somebody set it.
pub fn tokenizer_length(folder: &ModelFolder) -> Result<Option<usize>, ModelError> {
    let Some(config) = folder.optional_json("tokenizer_config.json")? else { return Ok(None) };
    let length = config.get("model_max_length").and_then(Value::as_u64);
    Ok(length.filter(|length| *length < UNSET_LENGTH_MIN).and_then(|length| usize::try_from(length).ok()))
}

/// `modules.json`: an encoder, a pooling, and perhaps a normalisation.
struct Modules {
    encoder: ModelFolder,
    pooling_file: String,
    normalise: bool,
    files: Vec<String>,
}

impl Modules {
    fn read(folder: &ModelFolder) -> Result<Self, ModelError> {
        if !folder.has(MODULES_FILE) {
            let expected = "modules.json, as sentence-transformers saves it";
            let found = "none; a plain encoder or a cross-encoder is no sentence encoder";
            return Err(folder.error("", "contents", expected, found));
        }
        let file = folder.json(MODULES_FILE)?;
        let list = file.whole().as_array().filter(|list| list.len() <= MODULE_COUNT_MAX);
        let list =
            list.ok_or_else(|| file.error("modules", "a list of at most 8", &excerpt(file.whole())))?;
        let kinds: Vec<(&str, &str)> =
            list.iter().map(|module| (part(module, "type"), part(module, "path"))).collect();
        let (encoder, pooling, normalise) = match kinds.as_slice() {
            [("Transformer", encoder), ("Pooling", pooling)] => (*encoder, *pooling, false),
            [("Transformer", encoder), ("Pooling", pooling), ("Normalize", _)] => (*encoder, *pooling, true),
            _ => {
                let found: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
                let expected = "Transformer, Pooling and perhaps Normalize";
                return Err(file.error("type", expected, &found.join(", ")));
            }
        };
        let inside = |path: &str| {
            let outside = || file.error("path", "a folder inside the model's folder", path);
            folder.inner(path).ok_or_else(outside).map(|inner| (inner, path.trim_end_matches('/').to_owned()))
        };
        let (encoder, encoder_path) = inside(encoder)?;
        let (_, pooling_path) = inside(pooling)?;
        let pooling_file = joined(&pooling_path, "config.json");
        let mut files = vec![MODULES_FILE.to_owned(), pooling_file.clone()];
        files.push("config_sentence_transformers.json".to_owned());
        files.extend(ENCODER_FILES.iter().map(|name| joined(&encoder_path, name)));
        Ok(Self { encoder, pooling_file, normalise, files })
    }
}

/// Files of an encoder that decide what comes out of it, beside its weights.
pub const ENCODER_FILES: [&str; 4] =
    ["config.json", "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json"];

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() || folder == "." { name.to_owned() } else { format!("{folder}/{name}") }
}

/// A text of a module; of a type only the last part, since releases move their classes about.
fn part<'a>(module: &'a Value, name: &str) -> &'a str {
    let text = module.get(name).and_then(Value::as_str).unwrap_or("");
    if name == "type" { text.rsplit('.').next().unwrap_or(text) } else { text }
}

/// Older releases write a flag for each way, newer ones a name. Also says whether the prompt's tokens take part.
fn pooling(file: &Fields) -> Result<(Pooling, bool), ModelError> {
    let include_prompt = file.flag("include_prompt", true)?;
    if file.get("pooling_mode").is_some() {
        let pooling = match file.optional_text("pooling_mode")? {
            Some("mean") => Pooling::Mean,
            Some("cls") => Pooling::Cls,
            Some("max") => Pooling::Max,
            _ => return Err(file.wrong("pooling_mode", "`mean`, `cls` or `max`")),
        };
        return Ok((pooling, include_prompt));
    }
    let known = [
        ("pooling_mode_cls_token", Pooling::Cls),
        ("pooling_mode_mean_tokens", Pooling::Mean),
        ("pooling_mode_max_tokens", Pooling::Max),
    ];
    let mut chosen = Vec::new();
    for (name, pooling) in known {
        if file.flag(name, false)? {
            chosen.push(pooling);
        }
    }
    let others =
        ["pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"];
    for name in others {
        if file.flag(name, false)? {
            return Err(file.wrong(name, "false: only cls, mean and max pooling are computed"));
        }
    }
    match chosen.as_slice() {
        [one] => Ok((*one, include_prompt)),
        several => {
            Err(file.error("pooling_mode", "exactly one of cls, mean and max", &several.len().to_string()))
        }
    }
}

/// The first of the named prompts, else the default one, else none.
fn prompt(file: &Fields, names: &[&str]) -> Result<String, ModelError> {
    let prompts = file.get("prompts");
    let default = file.optional_text("default_prompt_name")?;
    let named = |name: &str| prompts.and_then(|prompts| prompts.get(name)).and_then(Value::as_str);
    let text = names.iter().copied().find_map(named).or_else(|| default.and_then(named)).unwrap_or("");
    if text.len() > PROMPT_LENGTH_BYTES_MAX {
        return Err(file.error("prompts", "at most 1000 bytes", &format!("{} bytes", text.len())));
    }
    Ok(text.to_owned())
}
