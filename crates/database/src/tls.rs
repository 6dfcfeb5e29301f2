//! Encryption of connections to the database: which certificates of a server are accepted.
//!
//! Speaks TLS 1.2 and 1.3 by rustls with ring, like the rest of the program. Does not depend on addresses.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Largest file of certificates that is read.
const CERTIFICATES_BYTES_MAX: u64 = 1 << 20;
/// The value of `sslrootcert` that means the certificates of the system.
const SYSTEM: &str = "system";

/// What is demanded of the server's certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Demand {
    /// Any certificate: no protection against impersonation.
    Any,
    /// One that a trusted root has signed.
    Signed,
    /// And that is for the host of the address.
    SignedForHost,
}

/// Encryption of connections with this demand; `roots` names a file of trusted certificates, or `system`, the default.
pub(super) fn encryption(demand: Demand, roots: Option<&str>) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    // Explicit roots imply verification.
    let demand = if demand == Demand::Any && roots.is_some() { Demand::Signed } else { demand };
    let verifier = match demand {
        Demand::Any => None,
        Demand::Signed | Demand::SignedForHost => {
            let roots = Arc::new(read_roots(roots.unwrap_or(SYSTEM))?);
            let built = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            Some(built.map_err(|error| error.to_string())?)
        }
    };
    let verifier = Verifier {
        provider: Arc::clone(&provider),
        signed: verifier,
        for_host: demand == Demand::SignedForHost,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn read_roots(place: &str) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    if place == SYSTEM {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    } else {
        let failed = |error: &dyn std::fmt::Display| format!("{place}: {error}");
        let file = std::fs::File::open(Path::new(place)).map_err(|error| failed(&error))?;
        let file = io::BufReader::new(io::Read::take(file, CERTIFICATES_BYTES_MAX));
        for certificate in CertificateDer::pem_reader_iter(file) {
            let certificate = certificate.map_err(|error| failed(&error))?;
            store.add(certificate).map_err(|error| failed(&error))?;
        }
    }
    if store.is_empty() { Err(format!("{place}: there is no certificate")) } else { Ok(store) }
}

/// Looks at the certificate of a server as far as that is demanded. The handshake is verified always.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    signed: Option<Arc<WebPkiServerVerifier>>,
    for_host: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(signed) = &self.signed else { return Ok(ServerCertVerified::assertion()) };
        match signed.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last, when the rest is right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.for_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
