//! Documents about the server: its address, the OpenAPI document and the files of the console, each built once.
//!
//! Does not depend on datasets.

use std::sync::OnceLock;

use super::prepared::Prepared;
use super::public_url::PublicUrl;
use crate::api::context::Incoming;
use crate::api::openapi;
use mercato_base::clock::Moment;
use mercato_web::{ApiError, validation_error};

/// Documents that do not change while the server runs.
#[derive(Debug)]
pub struct Documents {
    public_url: Option<PublicUrl>,
    started_at: Moment,
    openapi: OnceLock<Prepared>,
    console: OnceLock<Vec<(&'static str, Prepared)>>,
}

impl Documents {
    /// Documents of a server that was started at `started_at` and is reached at `public_url`, if the operator said where.
    pub fn new(public_url: Option<PublicUrl>, started_at: Moment) -> Self {
        Self { public_url, started_at, openapi: OnceLock::new(), console: OnceLock::new() }
    }

    /// The OpenAPI document.
    pub fn openapi(&self) -> &Prepared {
        self.openapi.get_or_init(|| {
            let document = openapi::document(self.public_url.as_ref().map(PublicUrl::as_str));
            Prepared::new("application/json; charset=utf-8", document.into_bytes(), self.started_at)
        })
    }

    /// A file of the console; `build` makes all of them at the first request.
    pub fn console_file(
        &self,
        name: &str,
        build: impl FnOnce(Moment) -> Vec<(&'static str, Prepared)>,
    ) -> Option<&Prepared> {
        let files = self.console.get_or_init(|| build(self.started_at));
        files.iter().find(|(present, _)| *present == name).map(|(_, file)| file)
    }

    /// The path of the public address, which precedes every path that clients see; empty without one.
    pub fn path_prefix(&self) -> &str {
        self.public_url.as_ref().map_or("", PublicUrl::path)
    }

    /// When the server was started, which is when its own texts changed last.
    pub fn started_at(&self) -> Moment {
        self.started_at
    }

    /// A path as responses show it: the whole address if a public URL is configured, else the path alone.
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.as_ref().map_or("", PublicUrl::as_str))
    }

    /// The address of this server for the outside, where the operator said it.
    pub fn public_url(&self) -> Option<&PublicUrl> {
        self.public_url.as_ref()
    }

    /// The address in front of every path, for answers that must carry whole addresses.
    pub fn base_url(&self, request: &Incoming) -> Result<PublicUrl, ApiError> {
        if let Some(url) = &self.public_url {
            return Ok(url.clone());
        }
        request.header("Host").and_then(PublicUrl::of_host).ok_or_else(|| {
            let message = "the header Host does not name a host, and this answer needs whole addresses";
            validation_error("HOST_INVALID", "Host", message, "send the name and port of this server as Host")
        })
    }
}
