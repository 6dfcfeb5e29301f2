//! Calls to the interface of Stripe: forms out, JSON in, with bounds of time and size.
//!
//! Does not depend on the meaning of calls.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::{Agent, Body};

use super::secret::Secret;
use crate::provider::ProviderError;

/// Time of one call to a provider.
const CALL_SECONDS_MAX: u64 = 10;
/// Largest answer of a provider.
const ANSWER_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The version whose objects are read here.
const API_VERSION: &str = "2024-06-20";
/// Times that a call is made when the first one fails on its way.
const ATTEMPTS: usize = 2;
/// Longest reason of a refusal that is repeated.
const REASON_CHARS_MAX: usize = 300;

pub(super) struct Client {
    agent: Agent,
    key: Secret,
    api: String,
}

#[derive(Deserialize)]
struct Refusal {
    error: RefusalDetails,
}

#[derive(Deserialize)]
struct RefusalDetails {
    code: Option<String>,
    message: Option<String>,
}

type Sent = Result<ureq::http::Response<Body>, ureq::Error>;

impl Client {
    /// A client of the interface at `api`.
    pub(super) fn new(key: Secret, api: &str) -> Client {
        let config = Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(CALL_SECONDS_MAX)))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent("mercato");
        // A proxy of the environment would not reach a server of this machine.
        let config = if api.starts_with("https://") { config } else { config.proxy(None) };
        Client { agent: config.build().new_agent(), key, api: api.to_owned() }
    }

    /// Sends a form. The same `idempotency_key` does nothing twice, so a call that failed on its way is made again.
    pub(super) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        fields: &[(&'static str, String)],
        idempotency_key: &str,
    ) -> Result<T, ProviderError> {
        self.call(|| {
            let request = self.agent.post(format!("{}{path}", self.api));
            let request = request.header("Authorization", format!("Bearer {}", self.key.reveal()));
            let request = request.header("Stripe-Version", API_VERSION);
            let request = request.header("Idempotency-Key", idempotency_key);
            request.send_form(fields.iter().map(|(name, value)| (*name, value.as_str())))
        })
    }

    /// Reads something.
    pub(super) fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<T, ProviderError> {
        self.call(|| {
            let request = self.agent.get(format!("{}{path}", self.api));
            let request = request.header("Authorization", format!("Bearer {}", self.key.reveal()));
            let request = request.header("Stripe-Version", API_VERSION);
            request.query_pairs(query.iter().copied()).call()
        })
    }

    fn call<T: DeserializeOwned>(&self, send: impl Fn() -> Sent) -> Result<T, ProviderError> {
        let mut last = ProviderError::Unreachable("no attempt was made".to_owned());
        for _ in 0..ATTEMPTS {
            match self.read(send()) {
                Ok((200..=299, body)) => {
                    let read = serde_json::from_slice(&body);
                    return read.map_err(|error| ProviderError::Unreadable(error.to_string()));
                }
                Ok((status, body)) => {
                    last = ProviderError::Refused { status, reason: self.reason(&body) };
                    if status < 500 {
                        break;
                    }
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn read(&self, sent: Sent) -> Result<(u16, Vec<u8>), ProviderError> {
        let unreachable =
            |error: ureq::Error| ProviderError::Unreachable(self.without_key(&error.to_string()));
        let mut response = sent.map_err(unreachable)?;
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        Ok((response.status().as_u16(), body.map_err(unreachable)?))
    }

    fn reason(&self, body: &[u8]) -> String {
        let Ok(Refusal { error }) = serde_json::from_slice(body) else { return "no reason".to_owned() };
        let message = [error.code, error.message].into_iter().flatten().collect::<Vec<_>>().join(": ");
        self.without_key(&message).chars().take(REASON_CHARS_MAX).collect()
    }

    /// A text that goes into the log.
    fn without_key(&self, text: &str) -> String {
        text.replace(self.key.reveal(), "…")
    }
}
