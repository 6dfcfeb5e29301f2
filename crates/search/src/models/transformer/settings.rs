//! `config.json`: the shape of a text encoder.
//!
//! Validates every number, so that the code that reads weights or computes can rely on it. Does not depend on weights.

use super::fields::Fields;
use crate::models::error::ModelError;

/// Widest vector of a token.
const HIDDEN_SIZE_MAX: usize = 4_096;
/// Widest inner vector of a layer.
const INTERMEDIATE_SIZE_MAX: usize = 16_384;
/// Most layers.
const LAYER_COUNT_MAX: usize = 64;
/// Most tokens that a vocabulary holds.
const VOCABULARY_SIZE_MAX: usize = 1_000_000;
/// Most positions that a model knows.
const POSITION_COUNT_MAX: usize = 65_536;
/// Most kinds of sentences.
const TYPE_COUNT_MAX: usize = 16;
/// Most numbers of a whole model (4 GB of single precision).
const PARAMETER_COUNT_MAX: usize = 1_000_000_000;
/// Tokens of one text that are read at most, whatever the model could: time grows faster than length.
const SEQUENCE_TOKENS_MAX: usize = 512;
/// Fewest tokens that a model must be able to read.
const SEQUENCE_TOKENS_MIN: usize = 8;
/// A vocabulary from this size on was made for many languages: English ones have about 30,000 tokens, multilingual ones
/// 120,000 or 250,000.
const MULTILINGUAL_VOCABULARY_MIN: usize = 60_000;

/// Families of encoders that differ in where positions begin and in the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// BERT and models trained like it (MiniLM).
    Bert,
    XlmRoberta,
}

impl Architecture {
    /// As `config.json` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bert => "bert",
            Self::XlmRoberta => "xlm-roberta",
        }
    }

    /// The optional prefix of the names of weights.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Bert => "bert.",
            Self::XlmRoberta => "roberta.",
        }
    }
}

/// The activation function between the two products of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// With the error function.
    Gelu,
    /// With the hyperbolic tangent.
    GeluTanh,
    /// Positive part.
    Relu,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EncoderSettings {
    pub architecture: Architecture,
    pub vocabulary: usize,
    pub hidden: usize,
    pub heads: usize,
    pub layers: usize,
    pub intermediate: usize,
    pub positions: usize,
    pub types: usize,
    pub epsilon: f64,
    pub activation: Activation,
    /// Position of the first token.
    pub first_position: usize,
}

impl EncoderSettings {
    /// Reads and checks `config.json`.
    pub fn read(config: &Fields) -> Result<Self, ModelError> {
        let architecture = architecture(config)?;
        let hidden = config.count("hidden_size", 1..=HIDDEN_SIZE_MAX)?;
        let heads = config.count("num_attention_heads", 1..=hidden)?;
        if hidden % heads != 0 {
            return Err(config.wrong("num_attention_heads", &format!("a divisor of hidden_size {hidden}")));
        }
        let vocabulary = config.count("vocab_size", 1..=VOCABULARY_SIZE_MAX)?;
        let padding = config.optional_count("pad_token_id", 0..=vocabulary.saturating_sub(1))?;
        let settings = Self {
            architecture,
            vocabulary,
            hidden,
            heads,
            layers: config.count("num_hidden_layers", 1..=LAYER_COUNT_MAX)?,
            intermediate: config.count("intermediate_size", 1..=INTERMEDIATE_SIZE_MAX)?,
            positions: config.count("max_position_embeddings", SEQUENCE_TOKENS_MIN..=POSITION_COUNT_MAX)?,
            types: config.optional_count("type_vocab_size", 1..=TYPE_COUNT_MAX)?.unwrap_or(2),
            epsilon: epsilon(config)?,
            activation: activation(config)?,
            first_position: match architecture {
                Architecture::Bert => 0,
                // RoBERTa numbers positions from the one after the padding token.
                Architecture::XlmRoberta => padding.unwrap_or(1).saturating_add(1),
            },
        };
        refuse_variants(config)?;
        settings.check_size(config)?;
        Ok(settings)
    }

    /// Tokens of one text that the model can read, special ones included.
    pub fn tokens_max(&self) -> usize {
        self.positions.saturating_sub(self.first_position).min(SEQUENCE_TOKENS_MAX)
    }

    /// The most tokens of one text: what the folder says (`asked`), within what the model can.
    pub fn sequence_limit(&self, asked: Option<usize>) -> usize {
        asked.unwrap_or(usize::MAX).min(self.tokens_max())
    }

    /// Whether the vocabulary was made for many languages.
    pub fn is_multilingual(&self) -> bool {
        self.vocabulary >= MULTILINGUAL_VOCABULARY_MIN
    }

    /// Numbers of all weights.
    pub fn parameter_count(&self) -> usize {
        let tables = self.vocabulary.saturating_add(self.positions).saturating_add(self.types);
        let attention = self.hidden.saturating_mul(self.hidden).saturating_mul(4);
        let inner = self.hidden.saturating_mul(self.intermediate).saturating_mul(2);
        let small = self.hidden.saturating_mul(9).saturating_add(self.intermediate);
        let layer = attention.saturating_add(inner).saturating_add(small);
        let embeddings = tables.saturating_add(2).saturating_mul(self.hidden);
        embeddings.saturating_add(layer.saturating_mul(self.layers))
    }

    fn check_size(&self, config: &Fields) -> Result<(), ModelError> {
        if self.tokens_max() < SEQUENCE_TOKENS_MIN {
            return Err(config.wrong("max_position_embeddings", "room for 8 tokens after pad_token_id"));
        }
        let parameters = self.parameter_count();
        if parameters > PARAMETER_COUNT_MAX {
            let found = format!("{parameters} parameters");
            return Err(config.error("size", &format!("at most {PARAMETER_COUNT_MAX} parameters"), &found));
        }
        Ok(())
    }
}

fn architecture(config: &Fields) -> Result<Architecture, ModelError> {
    match config.optional_text("model_type")? {
        Some("bert") => Ok(Architecture::Bert),
        Some("xlm-roberta") => Ok(Architecture::XlmRoberta),
        _ => Err(config.wrong("model_type", "`bert` or `xlm-roberta`")),
    }
}

fn activation(config: &Fields) -> Result<Activation, ModelError> {
    match config.optional_text("hidden_act")? {
        None | Some("gelu") => Ok(Activation::Gelu),
        Some("gelu_new" | "gelu_pytorch_tanh" | "gelu_fast") => Ok(Activation::GeluTanh),
        Some("relu") => Ok(Activation::Relu),
        Some(_) => Err(config.wrong("hidden_act", "`gelu`, `gelu_new`, `gelu_pytorch_tanh` or `relu`")),
    }
}

fn epsilon(config: &Fields) -> Result<f64, ModelError> {
    let Some(value) = config.get("layer_norm_eps") else { return Ok(1e-12) };
    let number = value.as_f64().filter(|number| (0.0..=0.1).contains(number));
    number.ok_or_else(|| config.wrong("layer_norm_eps", "a number from 0 to 0.1"))
}

/// Refuses what would be computed in another way without a word: newer files leave these fields out.
fn refuse_variants(config: &Fields) -> Result<(), ModelError> {
    if !matches!(config.optional_text("position_embedding_type")?, None | Some("absolute")) {
        return Err(config.wrong("position_embedding_type", "`absolute`"));
    }
    for name in ["is_decoder", "add_cross_attention"] {
        if config.flag(name, false)? {
            return Err(config.wrong(name, "false"));
        }
    }
    Ok(())
}
