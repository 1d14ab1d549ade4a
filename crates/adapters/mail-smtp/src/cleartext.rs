//! The unencrypted beginning of a connection.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// First byte of a TLS handshake record (RFC 8446, section 5.1). No SMTP command begins with it.
const HANDSHAKE: u8 = 22;

/// A connection that begins unencrypted and can switch to TLS.
///
/// While unencrypted, it returns one byte at a time. The library above reads through a buffer that survives STARTTLS. Bytes that an
/// attacker appended to the last plain-text reply would stay in it and count as a reply of the authenticated server. Reading single bytes,
/// nothing is ever read beyond that reply. Whatever follows it is handed to TLS, is not a TLS record, and ends the connection. Greetings
/// are short, so the extra reads do not matter.
#[derive(Debug)]
pub(crate) struct Cleartext {
    stream: TcpStream,
    encrypted: bool,
}

impl Cleartext {
    pub(crate) const fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            encrypted: false,
        }
    }
}

impl AsyncTokioStream for Cleartext {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl AsyncRead for Cleartext {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.encrypted {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let mut byte = [0];
        let mut one = ReadBuf::new(&mut byte);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut one))?;
        buffer.put_slice(one.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Cleartext {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // In TLS, the client speaks first.
        if bytes.first() == Some(&HANDSHAKE) {
            self.encrypted = true;
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
