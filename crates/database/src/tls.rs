//! Encryption of connections to the database: who must have signed the server's certificate, and how a connection begins.
//!
//! Speaks TLS 1.2 and 1.3 by rustls with ring, like the rest of the program. Does not depend on addresses.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// Largest file of certificates that is read.
const CERTIFICATES_BYTES_MAX: u64 = 1 << 20;
/// The value of `sslrootcert` that means the certificates of the system.
const SYSTEM: &str = "system";

/// What is demanded of the server's certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Demand {
    /// Nothing: whoever answers may read along.
    Any,
    /// Somebody who is trusted has signed it.
    Signed,
    /// And it is for the host of the address.
    SignedForHost,
}

/// Makes encrypted connections.
#[derive(Clone)]
pub(super) struct Encryption(Arc<ClientConfig>);

impl Encryption {
    /// Encryption that demands this; `roots` names a file of certificates that are trusted, or `system`, which is the default.
    pub(super) fn new(demand: Demand, roots: Option<&str>) -> Result<Encryption, String> {
        let provider = Arc::new(ring::default_provider());
        // Who names certificates wants them to be looked at.
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
        Ok(Encryption(Arc::new(config)))
    }
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

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Encryption {
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, io::Error> {
        let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Handshake { connector: TlsConnector::from(Arc::clone(&self.0)), host })
    }
}

/// A connection that is about to be encrypted.
pub(super) struct Handshake {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let begun = self.connector.connect(self.host, stream);
        Box::pin(async move { Ok(Encrypted(Box::new(begun.await?))) })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    /// Passwords are not bound to the connection: the certificate is what tells who answers.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
