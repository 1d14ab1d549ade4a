//! The file format of backups.
//!
//! Three lines of text around binary chunks: `vestry-backup-v1`, the [`Header`] as JSON, the chunks, and the [`Trailer`] as JSON. Each chunk
//! begins with its length in four bytes, big-endian; one of length 0 is the last. The trailer's hash covers the header, the data and the
//! contents.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};

use aws_lc_rs::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vestry_store_sql::Contents;

/// The first line.
const MAGIC: &[u8] = b"vestry-backup-v1\n";
/// Length of a full chunk in bytes.
const CHUNK: usize = 1 << 20;
/// Maximum length of a line of JSON in bytes.
const MAX_LINE: u64 = 1 << 20;

/// The facts that are known before the data is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// The release that wrote the file.
    pub(super) release: String,
    /// `sqlite` or `postgres`.
    pub(super) store: String,
    /// Host and port of the public URL; `None` if it was not set.
    pub(super) deployment: Option<String>,
    /// The key that verifies checkpoints, as `vestry audit key` prints it; `None` without the root key.
    pub(super) audit_key: Option<String>,
    /// The moment that the data shows, in Unix seconds. Everything acknowledged before it is in the data.
    pub(super) taken_at: i64,
}

/// The facts that are known at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trailer {
    /// The rows, as they were counted.
    pub(super) contents: Counted,
    /// Length of the data.
    pub(super) bytes: u64,
    /// SHA-256 of the header line, the data and the contents, in hexadecimal digits.
    pub(super) sha256: String,
}

/// The contents of a database, for comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counted {
    /// The applied migrations, in order.
    pub(super) migrations: Vec<String>,
    /// The number of rows of each table.
    pub(super) rows: BTreeMap<String, u64>,
    /// The number of audit chains.
    pub(super) audit_chains: u64,
    /// SHA-256 of the ends of all audit chains, one line each, in hexadecimal digits.
    pub(super) audit_heads: String,
}

impl Counted {
    /// The table with a different number of rows, or another difference from what a database contains.
    pub(super) fn difference(&self, found: &Self) -> Option<String> {
        let tables = self.rows.iter().chain(&found.rows);
        for (table, _) in tables {
            let of = |counted: &Self| counted.rows.get(table).copied();
            if of(self) != of(found) {
                let [expected, found] = [of(self), of(found)].map(Option::unwrap_or_default);
                return Some(format!("{table} has {found} rows instead of {expected}"));
            }
        }
        (self != found).then(|| "the audit chains end elsewhere".to_owned())
    }

    /// The number of rows of a table.
    pub(super) fn rows_of(&self, table: &str) -> u64 {
        self.rows.get(table).copied().unwrap_or_default()
    }
}

impl From<Contents> for Counted {
    fn from(contents: Contents) -> Self {
        let mut heads = Context::new(&SHA256);
        for head in &contents.audit_heads {
            heads.update(head.as_bytes());
            heads.update(b"\n");
        }
        Self {
            migrations: contents.migrations,
            rows: contents.rows,
            audit_chains: u64::try_from(contents.audit_heads.len()).unwrap_or(u64::MAX),
            audit_heads: hex::encode(heads.finish()),
        }
    }
}

/// The reason that a file cannot be restored.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// It does not begin like a backup.
    #[error("not a Vestry backup; if it is encrypted, decrypt it first")]
    Foreign,
    /// It does not have the hash that it names, or ends too early.
    #[error("backup is truncated or altered; nothing was restored")]
    Altered,
    /// It cannot be read.
    #[error("the backup cannot be read")]
    Io(#[source] io::Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Self::Altered,
            _ => Self::Io(error),
        }
    }
}

/// Writes a backup.
pub(super) struct Writer<W> {
    into: W,
    hash: Context,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the beginning of a file.
    pub(super) fn begin(mut into: W, header: &Header) -> io::Result<Self> {
        into.write_all(MAGIC)?;
        let line = line(header)?;
        into.write_all(&line)?;
        let mut hash = Context::new(&SHA256);
        hash.update(&line);
        let bytes = 0;
        Ok(Self { into, hash, bytes })
    }

    /// Writes data as chunks.
    pub(super) fn copy(&mut self, mut data: impl Read) -> io::Result<()> {
        let mut chunk = Vec::with_capacity(CHUNK);
        loop {
            chunk.clear();
            let limit = u64::try_from(CHUNK).unwrap_or(u64::MAX);
            data.by_ref().take(limit).read_to_end(&mut chunk)?;
            let length = u32::try_from(chunk.len()).map_err(io::Error::other)?;
            self.into.write_all(&length.to_be_bytes())?;
            if length == 0 {
                return Ok(());
            }
            self.into.write_all(&chunk)?;
            self.hash.update(&chunk);
            self.bytes += u64::from(length);
        }
    }

    /// Writes the end of the file.
    pub(super) fn end(mut self, contents: Counted) -> io::Result<(Trailer, W)> {
        self.hash.update(&line(&contents)?);
        let trailer = Trailer {
            contents,
            bytes: self.bytes,
            sha256: hex::encode(self.hash.finish()),
        };
        self.into.write_all(&line(&trailer)?)?;
        self.into.flush()?;
        Ok((trailer, self.into))
    }
}

/// Reads a backup.
pub(super) struct Reader<R> {
    from: BufReader<R>,
    hash: Context,
    bytes: u64,
    /// Bytes of the chunk that were not read yet.
    left: usize,
    is_at_end: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a file.
    pub(super) fn begin(from: R) -> Result<(Header, Self), FileError> {
        let mut from = BufReader::with_capacity(CHUNK, from);
        let mut magic = Vec::new();
        let length = u64::try_from(MAGIC.len()).unwrap_or(u64::MAX);
        from.by_ref().take(length).read_to_end(&mut magic)?;
        if magic != MAGIC {
            return Err(FileError::Foreign);
        }
        let line = read_line(&mut from)?;
        let mut hash = Context::new(&SHA256);
        hash.update(&line);
        let header = serde_json::from_slice(&line).map_err(|_garbled| FileError::Altered)?;
        let reader = Self {
            from,
            hash,
            bytes: 0,
            left: 0,
            is_at_end: false,
        };
        Ok((header, reader))
    }

    /// Checks the end of the file, after all data was read.
    pub(super) fn end(mut self) -> Result<Trailer, FileError> {
        io::copy(&mut self, &mut io::sink())?;
        let trailer = read_line(&mut self.from)?;
        let trailer: Trailer =
            serde_json::from_slice(&trailer).map_err(|_garbled| FileError::Altered)?;
        self.hash.update(&line(&trailer.contents)?);
        let sha256 = hex::encode(self.hash.finish());
        let is_at_end = self.from.fill_buf()?.is_empty();
        match trailer.sha256 == sha256 && trailer.bytes == self.bytes && is_at_end {
            true => Ok(trailer),
            false => Err(FileError::Altered),
        }
    }
}

/// Reads the data, without the lengths of the chunks.
impl<R: Read> Read for Reader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.is_at_end {
            let mut length = [0; 4];
            self.from.read_exact(&mut length)?;
            self.left = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
            self.is_at_end = self.left == 0;
        }
        if self.left == 0 || into.is_empty() {
            return Ok(0);
        }
        let limit = self.left.min(into.len());
        let part = into.get_mut(..limit).unwrap_or_default();
        let count = self.from.read(part)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.hash.update(part.get(..count).unwrap_or_default());
        self.left -= count;
        self.bytes += u64::try_from(count).unwrap_or_default();
        Ok(count)
    }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

fn read_line(from: &mut impl BufRead) -> Result<Vec<u8>, FileError> {
    let mut line = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(line),
        _ => Err(FileError::Altered),
    }
}

/// A header and a trailer as one document.
pub(super) fn document(header: &Header, trailer: &Trailer) -> Value {
    serde_json::json!({
        "release": header.release,
        "store": header.store,
        "deployment": header.deployment,
        "taken_at": header.taken_at,
        "bytes": trailer.bytes,
        "sha256": trailer.sha256,
        "rows": trailer.contents.rows,
    })
}

#[cfg(test)]
mod tests;
