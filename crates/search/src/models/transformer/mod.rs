//! Transformer encoders of the BERT family: their files, their settings, and the computation of sentence vectors and scores.

pub(super) mod cross_encoder;
pub(super) mod embedding;
mod encoder;
mod fields;
pub(super) mod folder;
mod gelu;
pub(super) mod sentence;
pub(super) mod settings;
mod tokenizer;
pub(super) mod weights;

pub use cross_encoder::PASSAGE_TOKENS_MAX;
