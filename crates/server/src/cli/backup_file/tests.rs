use super::*;

fn header() -> Header {
    Header {
        release: "0.1.0".to_owned(),
        store: "sqlite".to_owned(),
        deployment: Some("id.example.com".to_owned()),
        audit_key: None,
        taken_at: 1_800_000_000,
    }
}

fn contents() -> Counted {
    Counted::from(Contents {
        migrations: vec!["2026-11-29-000001".to_owned()],
        rows: BTreeMap::from([("users".to_owned(), 3)]),
        audit_heads: vec!["app_1 live auditchain_1 7 abcd".to_owned()],
    })
}

fn written(data: &[u8]) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), &header()).unwrap();
    writer.copy(data).unwrap();
    writer.end(contents()).unwrap().1
}

fn read(file: &[u8]) -> Result<(Header, Vec<u8>, Trailer), FileError> {
    let (header, mut reader) = Reader::begin(file)?;
    let mut data = Vec::new();
    reader.read_to_end(&mut data)?;
    Ok((header, data, reader.end()?))
}

#[test]
fn data_comes_back() {
    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
        let data: Vec<u8> = (0..=250).cycle().take(length).collect();
        let (found, returned, trailer) = read(&written(&data)).unwrap();
        assert_eq!((found, returned == data), (header(), true), "{length}");
        assert_eq!(trailer.contents, contents());
    }
    let file = written(b"data");
    let (_, unread) = Reader::begin(file.as_slice()).unwrap();
    assert_eq!(unread.end().unwrap().bytes, 4);
}

#[test]
fn every_cut_and_every_altered_byte_is_noticed() {
    let file = written(b"some data");
    for length in 0..file.len() {
        assert!(read(&file[..length]).is_err(), "cut at {length}");
        let mut altered = file.clone();
        altered[length] ^= 1;
        assert!(read(&altered).is_err(), "altered at {length}");
    }
    let longer = [file.as_slice(), b"\n"].concat();
    assert!(matches!(read(&longer), Err(FileError::Altered)));
    for foreign in ["", "age-encryption.org/v1\n", "SQLite format 3"] {
        assert!(matches!(read(foreign.as_bytes()), Err(FileError::Foreign)));
    }
}

#[test]
fn a_difference_names_its_table() {
    let (one, mut other) = (contents(), contents());
    assert_eq!(one.difference(&other), None);
    other.audit_heads.push('0');
    assert_eq!(
        one.difference(&other).unwrap(),
        "the audit chains end elsewhere"
    );
    other.rows.insert("wallets".to_owned(), 1);
    assert_eq!(
        one.difference(&other).unwrap(),
        "wallets has 1 rows instead of 0"
    );
}
