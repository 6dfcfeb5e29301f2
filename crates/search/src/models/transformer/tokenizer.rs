//! Tokenizes texts with `tokenizer.json`.
//!
//! Replaces the file's settings for padding and truncation, which are left from training. Does not depend on weights.

use tokenizers::utils::truncation::TruncationDirection;
use tokenizers::{Encoding, Tokenizer, TruncationParams};

use super::folder::{ModelFolder, TOKENIZER_SIZE_BYTES_MAX};
use super::settings::EncoderSettings;
use crate::models::error::{InferenceError, ModelError};
use crate::models::guard::guarded;

/// Bytes of a text that are looked at, far more than any model reads.
const TEXT_SIZE_BYTES_MAX: usize = 64 * 1024;
const TOKENIZER_FILE: &str = "tokenizer.json";

/// The tokenizer of one model.
pub struct TextTokenizer {
    tokenizer: Tokenizer,
    lower_case: bool,
    length: usize,
}

/// A text, or a pair, as the encoder reads it.
pub struct Tokens {
    pub ids: Vec<u32>,
    /// Which of a pair a token belongs to.
    pub types: Vec<u32>,
}

impl TextTokenizer {
    /// Reads `tokenizer.json`; texts are cut to `length` tokens, special ones included.
    pub fn read(
        folder: &ModelFolder,
        settings: &EncoderSettings,
        length: usize,
        lower_case: bool,
    ) -> Result<Self, ModelError> {
        if !folder.has(TOKENIZER_FILE) {
            let found = "none; make it once with Python: `from transformers import AutoTokenizer; \
                         AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)`";
            return Err(folder.error("", "contents", TOKENIZER_FILE, found));
        }
        let bytes = folder.bytes(TOKENIZER_FILE, TOKENIZER_SIZE_BYTES_MAX)?;
        let error = |found: &str| folder.error(TOKENIZER_FILE, "tokenizer", "one that can be read", found);
        let outcome = guarded(|| -> Result<Tokenizer, String> {
            let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(|error| error.to_string())?;
            tokenizer.with_padding(None);
            let truncation = TruncationParams { max_length: length, ..TruncationParams::default() };
            tokenizer.with_truncation(Some(truncation)).map_err(|error| error.to_string())?;
            Ok(tokenizer)
        });
        let tokenizer = outcome.and_then(|inner| inner).map_err(|reason| error(&reason))?;
        let tokens = tokenizer.get_vocab_size(true);
        if tokens > settings.vocabulary {
            let expected = format!("at most the {} of vocab_size in config.json", settings.vocabulary);
            return Err(folder.error(TOKENIZER_FILE, "number of tokens", &expected, &tokens.to_string()));
        }
        Ok(Self { tokenizer, lower_case, length })
    }

    /// One text behind a prompt.
    pub fn single(&self, prompt: &str, text: &str) -> Result<Tokens, InferenceError> {
        let text = self.prepared(&[prompt, text.trim()].concat());
        self.run(|| self.tokenizer.encode(text, true).map_err(|error| error.to_string()))
    }

    /// A pair, of whose second text at most `second_length` tokens are kept.
    pub fn pair(&self, first: &str, second: &str, second_length: usize) -> Result<Tokens, InferenceError> {
        let (first, second) = (self.prepared(first.trim()), self.prepared(second.trim()));
        self.run(|| {
            let encode = |text| self.tokenizer.encode(text, false).map_err(|error| error.to_string());
            let first: Encoding = encode(first)?;
            let mut second: Encoding = encode(second)?;
            second.truncate(second_length, 0, TruncationDirection::Right);
            // Those that do not number the texts of a pair themselves take the numbers that are there.
            second.set_type_ids(vec![1; second.len()]);
            self.tokenizer.post_process(first, Some(second), true).map_err(|error| error.to_string())
        })
    }

    fn prepared(&self, text: &str) -> String {
        let text = text.get(..text.floor_char_boundary(TEXT_SIZE_BYTES_MAX)).unwrap_or(text);
        if self.lower_case { text.to_lowercase() } else { text.to_owned() }
    }

    /// Tokenizers are made from files; one that panics gives an error like any other.
    fn run(&self, encode: impl FnOnce() -> Result<Encoding, String>) -> Result<Tokens, InferenceError> {
        let encoding = guarded(encode).and_then(|inner| inner).map_err(InferenceError::Tokens)?;
        if encoding.is_empty() || encoding.len() > self.length {
            let found = format!("{} tokens where 1 to {} were asked for", encoding.len(), self.length);
            return Err(InferenceError::Tokens(found));
        }
        Ok(Tokens { ids: encoding.get_ids().to_vec(), types: encoding.get_type_ids().to_vec() })
    }
}
