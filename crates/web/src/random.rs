//! Random bytes for keys, tokens and salts.

use crate::errors::ApiError;

/// Bytes from the operating system.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], ApiError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(bytes)
}
