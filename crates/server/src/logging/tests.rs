use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use serde_json::{Value, json};
use tracing::subscriber::with_default;

use super::*;

/// Keeps everything.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn lines(&self) -> Vec<Value> {
        let written = self.0.lock().unwrap().clone();
        let text = String::from_utf8(written).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// PR-1: the fields of a line are flat, and those of a request have its id.
#[test]
fn pr_1_a_line_is_one_flat_json_object() {
    let kept = Kept::default();
    let output = kept.clone();
    let lines = JsonLines::new(move || output.clone());
    with_default(registry().with(lines), || {
        tracing::info!(
            count = 3,
            share = 0.5,
            is_on = true,
            text = "a \"b\"\nc",
            "outside"
        );
        let span = tracing::info_span!("request", request_id = "req_1");
        span.in_scope(|| {
            tracing::warn!(reason = %"late", "inside");
            tracing::info!(request_id = "req_2", "named");
        });
    });
    let mut lines = kept.lines();
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        let at = line.remove("timestamp").unwrap();
        assert!(
            vestry_domain::rfc3339::parse(at.as_str().unwrap()).is_some(),
            "{at}"
        );
        assert_eq!(line.remove("target").unwrap(), module_path!());
    }
    let expected = json!([
        {"level": "INFO", "message": "outside", "count": 3, "share": 0.5, "is_on": true, "text": "a \"b\"\nc"},
        {"level": "WARN", "message": "inside", "reason": "late", "request_id": "req_1"},
        {"level": "INFO", "message": "named", "request_id": "req_2"},
    ]);
    assert_eq!(Value::Array(lines), expected);
}

/// An output that takes a line only when it is let.
struct Blocked(Receiver<()>);

impl Write for Blocked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The test ends by dropping the other side.
        let _ended = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// PR-4: while the output is blocked, lines are dropped and counted, and writing one does not wait.
#[test]
fn pr_4_a_blocked_output_drops_lines_and_counts_them() {
    let blocked = Mutex::new(Vec::<Sender<()>>::new());
    let queues = Queues::start(10, 5, || {
        let (let_on, output) = mpsc::channel();
        blocked.lock().unwrap().push(let_on);
        Box::new(Blocked(output))
    });
    for (queue, most) in [(&queues.usual, 10), (&queues.urgent, 5)] {
        for _ in 0..100 {
            queue.clone().write_all(b"line\n").unwrap();
        }
        let dropped = queue.error_counter().dropped_lines();
        // One more is with the thread that writes, if it was quick enough.
        assert!((99 - most..=100 - most).contains(&dropped), "{dropped}");
    }
    blocked.lock().unwrap().clear();
    queues.flush();
}

#[test]
fn pr_4_drops_are_reported_once_they_are_over() {
    let mut drops = Drops::default();
    let looks = [0, 0, 900, 1_284, 1_284, 1_284, 1_285, 1_285];
    let reports = looks.map(|dropped| drops.after_a_look(dropped));
    let expected = [None, None, None, None, Some(1_284), None, None, Some(1)];
    assert_eq!(reports, expected);
}
