//! An HTTPS server whose certificate nobody has signed.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

/// Returns the port of a server that shakes hands with everyone who trusts it.
pub(super) fn start() -> u16 {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("localhost.crt")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("localhost.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            // The client breaks the handshake off, which is what the test is about.
            while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
        }
    });
    port
}
