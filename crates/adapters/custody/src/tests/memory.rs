//! What is left in memory after keys were used (S3 in small): the process reads itself.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use super::*;

/// What the search looks for is kept masked, or the search would find its own list.
const MASK: u8 = 0x5a;
type Masked = [u8; 32];

/// Remembers, masked, every 32 bytes that were drawn: private keys, data keys and App keys are such draws.
struct Recording {
    source: SeededEntropy,
    drawn: Mutex<Vec<Masked>>,
}

impl Entropy for Recording {
    fn fill(&self, buffer: &mut [u8]) {
        self.source.fill(buffer);
        if let Ok(draw) = <&Masked>::try_from(&*buffer) {
            self.drawn.lock().unwrap().push(draw.map(|byte| byte ^ MASK));
        }
    }
}

/// Keys by their first two bytes, as they are and turned around (the curve library's numbers are little-endian).
struct Search(BTreeMap<[u8; 2], Vec<Masked>>);

impl Search {
    fn new(keys: &[Masked]) -> Self {
        let mut by_start: BTreeMap<[u8; 2], Vec<Masked>> = BTreeMap::new();
        for key in keys {
            let mut turned = *key;
            turned.reverse();
            for masked in [*key, turned] {
                let start = [masked[0], masked[1]];
                by_start.entry(start).or_default().push(masked);
            }
        }
        Self(by_start)
    }

    fn found_in(&self, bytes: &[u8]) -> usize {
        let mut known = vec![false; 65_536];
        for start in self.0.keys() {
            known[usize::from(u16::from_be_bytes(*start))] = true;
        }
        let mut found = 0;
        for window in bytes.windows(32) {
            let start = [window[0] ^ MASK, window[1] ^ MASK];
            if !known[usize::from(u16::from_be_bytes(start))] {
                continue;
            }
            let is_key = |key: &&Masked| {
                let mut pairs = window.iter().zip(key.iter());
                pairs.all(|(byte, masked)| byte ^ MASK == *masked)
            };
            for k in self.0[&start].iter().filter(is_key) { found += 1; let mut r = *k; r.reverse(); println!("  draw {:?} rev {:?} at {:p}", DR.lock().unwrap().iter().position(|d| d == k), DR.lock().unwrap().iter().position(|d| *d == r), window); }
        }
        found
    }

    /// How many places of this process's writable memory hold one of the keys.
    fn found_in_this_process(&self) -> usize {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let memory = File::open("/proc/self/mem").unwrap();
        let mut found = 0;
        let mut buffer = vec![0; 1 << 20];
        let mut read = 0;
        for line in maps.lines() {
            let mut columns = line.split_whitespace();
            let (range, mode) = (columns.next().unwrap(), columns.next().unwrap());
            if !mode.starts_with("rw") {
                continue;
            }
            let (from, to) = range.split_once('-').unwrap();
            let mut from = u64::from_str_radix(from, 16).unwrap();
            let to = u64::from_str_radix(to, 16).unwrap();
            while from < to {
                let length = usize::try_from(to - from).unwrap().min(buffer.len());
                match memory.read_exact_at(&mut buffer[..length], from) {
                    Ok(()) => { let f = self.found_in(&buffer[..length]); if f > 0 { println!("{f} in {line}"); } found += f; read += length; buffer.fill(0); }
                    Err(e) => println!("{line}: {e}"),
                }
                from += u64::try_from(length).unwrap();
            }
        }
        println!("read {read}");
        found
    }
}

#[test]
fn s3_no_key_is_left_in_memory() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let entropy = Arc::new(Recording {
        source: SeededEntropy::fresh(),
        drawn: Mutex::default(),
    });
    let custody = runtime.block_on(async {
        let mut house = House::new();
        let custody = Custody::new(house.vault.clone(), Arc::new(house.store.clone()), entropy.clone()).unwrap();
        let now = house.samples.tick();
        let app = house.samples.id(now);
        let keys = custody.mint_app_keys(app, now).await.unwrap();
        house.insert(&keys).await;
        let custody = Arc::new(custody);
        let world = World::new(app, Environment::Live);
        for _ in 0..50 {
            let order = house.order(world);
            let custody = custody.clone();
            tokio::spawn(async move {
            let (stored, key) = custody.create_wallet(order).await.unwrap();
            for _ in 0..5 {
                custody.sign_message(stored.clone(), key.clone(), b"m").await.unwrap();
            }}).await.unwrap();
        }
        custody
    });
    let drawn = entropy.drawn.lock().unwrap().clone();
    println!("{} keys", drawn.len());
    let t = std::time::Instant::now();
    *DR.lock().unwrap() = drawn.clone();
    let search = Search::new(&drawn);
    println!("found {} in {:?}", search.found_in_this_process(), t.elapsed());
    let planted: Vec<u8> = drawn[20].iter().map(|b| b ^ MASK).collect();
    println!("found {} in {:?}", search.found_in_this_process(), t.elapsed());
    drop(planted);
    drop(custody);
}

static DR: Mutex<Vec<Masked>> = Mutex::new(Vec::new());
