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

/// A connection that begins in clear and may change to TLS.
///
/// As long as it is in clear it hands out one byte at a time. The library above reads through a buffer that it keeps
/// across STARTTLS; what somebody in between appended to the last answer in clear would wait there and be taken for an
/// answer of the authenticated server. This way nothing is ever read beyond that answer: what follows it meets TLS, is no
/// TLS record, and ends the connection. Greetings are short, so the extra reads cost nothing that counts.
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
        // The client speaks first in TLS.
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
