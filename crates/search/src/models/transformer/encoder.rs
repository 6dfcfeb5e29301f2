//! The encoder of BERT and XLM-RoBERTa: tokens in, one vector for each token out.
//!
//! Encodes one text at a time, without padding or masks. Does not depend on model folders or sentences.

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::ops::{layer_norm, softmax_last_dim};

use super::gelu::Gelu;
use super::settings::{Activation, Architecture, EncoderSettings};
use super::tokenizer::Tokens;
use super::weights::Weights;
use crate::models::error::ModelError;

/// All weights of an encoder, in memory and checked against its settings.
pub struct Encoder {
    settings: EncoderSettings,
    words: Tensor,
    positions: Tensor,
    types: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    padding: u32,
}

/// A product with a matrix, and a sum.
pub struct Linear {
    /// Input by output: the transpose of what files hold.
    weight: Tensor,
    bias: Tensor,
}

/// Scales each vector to mean 0 and variance 1, then as it was learned.
struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f32,
}

struct Layer {
    /// Queries, keys and values in one product; the queries are already divided by the root of the size of a head.
    attention: Linear,
    attention_output: Linear,
    attention_norm: Norm,
    inner: Linear,
    output: Linear,
    output_norm: Norm,
}

impl Encoder {
    /// Reads all weights below the prefix that `weights` has.
    pub fn read(settings: EncoderSettings, weights: &Weights<'_>) -> std::result::Result<Self, ModelError> {
        let hidden = settings.hidden;
        let table = |name: &str, rows| weights.tensor(&format!("embeddings.{name}.weight"), &[rows, hidden]);
        Ok(Self {
            words: table("word_embeddings", settings.vocabulary)?,
            positions: table("position_embeddings", settings.positions)?,
            types: table("token_type_embeddings", settings.types)?,
            norm: Norm::read(weights, "embeddings.LayerNorm", &settings)?,
            layers: (0..settings.layers)
                .map(|at| Layer::read(weights, &format!("encoder.layer.{at}"), &settings))
                .collect::<std::result::Result<_, _>>()?,
            // Positions of RoBERTa skip padding tokens, and begin behind the number of that token.
            padding: u32::try_from(settings.first_position.saturating_sub(1)).unwrap_or(0),
            settings,
        })
    }

    /// One vector for each token: `[tokens, hidden]`.
    pub fn forward(&self, tokens: &Tokens) -> Result<Tensor> {
        let mut state = self.norm.forward(&self.embed(tokens)?)?;
        for layer in &self.layers {
            state = layer.forward(&state, &self.settings)?;
        }
        Ok(state)
    }

    fn embed(&self, tokens: &Tokens) -> Result<Tensor> {
        let rows = |table: &Tensor, numbers: Vec<u32>| {
            let count = numbers.len();
            table.index_select(&Tensor::from_vec(numbers, count, &Device::Cpu)?, 0)
        };
        let count = tokens.ids.len();
        let types = match self.settings.architecture {
            // Its tokenizers number the texts of a pair, the model knows one kind only.
            Architecture::XlmRoberta => vec![0; count],
            Architecture::Bert if self.settings.types == 1 => vec![0; count],
            Architecture::Bert => tokens.types.clone(),
        };
        let words = rows(&self.words, tokens.ids.clone())?;
        (words + rows(&self.types, types)?)? + rows(&self.positions, self.position_numbers(&tokens.ids))?
    }

    fn position_numbers(&self, ids: &[u32]) -> Vec<u32> {
        let mut next = u32::try_from(self.settings.first_position).unwrap_or(0);
        let number = |id: &u32| {
            if self.settings.architecture == Architecture::XlmRoberta && *id == self.padding {
                return self.padding;
            }
            let number = next;
            next = next.saturating_add(1);
            number
        };
        ids.iter().map(number).collect()
    }
}

impl Linear {
    /// Reads `NAME.weight` and `NAME.bias`.
    pub fn read(
        weights: &Weights<'_>,
        name: &str,
        input: usize,
        output: usize,
    ) -> std::result::Result<Self, ModelError> {
        let weight = weights.tensor(&format!("{name}.weight"), &[output, input])?;
        let bias = weights.tensor(&format!("{name}.bias"), &[output])?;
        Self::new(&weight, bias).map_err(|error| weights.error(name, &error.to_string()))
    }

    fn new(weight: &Tensor, bias: Tensor) -> Result<Self> {
        Ok(Self { weight: weight.t()?.contiguous()?, bias })
    }

    /// `[rows, input]` to `[rows, output]`.
    pub fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        rows.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

impl Norm {
    fn read(
        weights: &Weights<'_>,
        name: &str,
        settings: &EncoderSettings,
    ) -> std::result::Result<Self, ModelError> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most 0.1, and single precision is what is computed in"
        )]
        let epsilon = settings.epsilon as f32;
        Ok(Self {
            weight: weights.tensor(&format!("{name}.weight"), &[settings.hidden])?,
            bias: weights.tensor(&format!("{name}.bias"), &[settings.hidden])?,
            epsilon,
        })
    }

    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        layer_norm(rows, &self.weight, &self.bias, self.epsilon)
    }
}

impl Layer {
    fn read(
        weights: &Weights<'_>,
        name: &str,
        settings: &EncoderSettings,
    ) -> std::result::Result<Self, ModelError> {
        let (hidden, inner) = (settings.hidden, settings.intermediate);
        let linear =
            |part: &str, input, output| Linear::read(weights, &format!("{name}.{part}"), input, output);
        let norm = |part: &str| Norm::read(weights, &format!("{name}.{part}.LayerNorm"), settings);
        let head = |part: &str| linear(&format!("attention.self.{part}"), hidden, hidden);
        let attention = fused(&head("query")?, &head("key")?, &head("value")?, settings)
            .map_err(|error| weights.error(name, &error.to_string()))?;
        Ok(Self {
            attention,
            attention_output: linear("attention.output.dense", hidden, hidden)?,
            attention_norm: norm("attention.output")?,
            inner: linear("intermediate.dense", hidden, inner)?,
            output: linear("output.dense", inner, hidden)?,
            output_norm: norm("output")?,
        })
    }

    fn forward(&self, state: &Tensor, settings: &EncoderSettings) -> Result<Tensor> {
        let mixed = self.attention_output.forward(&self.attend(state, settings)?)?;
        let state = self.attention_norm.forward(&(state + mixed)?)?;
        let inner = self.inner.forward(&state)?;
        let inner = match settings.activation {
            Activation::Gelu => inner.apply_op1_no_bwd(&Gelu)?,
            Activation::GeluTanh => inner.gelu()?,
            Activation::Relu => inner.relu()?,
        };
        self.output_norm.forward(&(&state + self.output.forward(&inner)?)?)
    }

    /// Each token takes from all tokens, by how well its query fits their keys, in each head by itself.
    fn attend(&self, state: &Tensor, settings: &EncoderSettings) -> Result<Tensor> {
        let (count, hidden) = state.dims2()?;
        let size = settings.hidden / settings.heads;
        // [tokens, 3, heads, size] → 3 × [heads, tokens, size]
        let parts = self.attention.forward(state)?.reshape((count, 3, settings.heads, size))?;
        let part = |at| parts.narrow(1, at, 1)?.squeeze(1)?.transpose(0, 1)?.contiguous();
        let (query, key, value): (Tensor, Tensor, Tensor) = (part(0)?, part(1)?, part(2)?);
        let weights = softmax_last_dim(&query.matmul(&key.t()?)?)?;
        weights.matmul(&value)?.transpose(0, 1)?.reshape((count, hidden))
    }
}

/// Three products as one.
fn fused(query: &Linear, key: &Linear, value: &Linear, settings: &EncoderSettings) -> Result<Linear> {
    let size = settings.hidden / settings.heads;
    let scale = 1.0 / (size as f64).sqrt();
    let (weight, bias) = ((&query.weight * scale)?, (&query.bias * scale)?);
    let weight = Tensor::cat(&[&weight, &key.weight, &value.weight], D::Minus1)?;
    let bias = Tensor::cat(&[&bias, &key.bias, &value.bias], 0)?;
    debug_assert_eq!(weight.dtype(), DType::F32);
    Ok(Linear { weight, bias })
}
