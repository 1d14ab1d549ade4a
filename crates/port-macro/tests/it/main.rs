//! Capabilities of a trait with `#[port]` (PR-111). Most of the test is that it compiles.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fmt::Display;
use std::sync::Arc;

use futures_util::FutureExt;
use vestry_port_macro::port;

/// A borrowed view with a lifetime in its path.
struct Line<'a>(&'a str);

#[port]
trait Shelf: Send + Sync {
    /// Methods that are not async stay unchanged.
    fn size(&self) -> usize;
    async fn find(&self, name: &str, shelf: &[String]) -> Result<Option<usize>, String>;
    async fn put(&mut self, line: Line<'_>, after: Option<&str>);
    async fn borrowed(&self) -> &str;
    async fn called(&self, with: Box<dyn Fn(&str) -> usize + Send + Sync>) -> usize;
    async fn taken(self: Box<Self>) -> Vec<String>;
    async fn made_of(parts: &[&str]) -> Self
    where
        Self: Sized;
    /// A default method can call the required ones.
    async fn twice(&self, name: &str) -> Result<Option<usize>, String> {
        let found = self.find(name, &[]).await?;
        Ok(found.map(|at| at * 2))
    }
}

struct Books(Vec<String>);

#[port]
impl Shelf for Books {
    fn size(&self) -> usize {
        self.0.len()
    }

    async fn find(&self, name: &str, shelf: &[String]) -> Result<Option<usize>, String> {
        if name.is_empty() {
            // Inferred without a hint, although it comes before any other return value.
            return Err("no name".into());
        }
        let mut all = self.0.iter().chain(shelf);
        Ok(all.position(|book| book == name))
    }

    async fn put(&mut self, Line(line): Line<'_>, mut after: Option<&str>) {
        let place = after
            .take()
            .and_then(|name| self.0.iter().position(|book| book == name));
        self.0
            .insert(place.map_or(0, |place| place + 1), line.to_owned());
    }

    async fn borrowed(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    async fn called(&self, with: Box<dyn Fn(&str) -> usize + Send + Sync>) -> usize {
        self.0.iter().map(|book| with(book)).sum()
    }

    async fn taken(self: Box<Self>) -> Vec<String> {
        self.0
    }

    async fn made_of(parts: &[&str]) -> Self {
        Self(parts.iter().map(|&part| part.to_owned()).collect())
    }
}

fn now<T>(answer: impl Future<Output = T> + Send) -> T {
    answer.now_or_never().expect("nothing here waits")
}

#[test]
fn a_trait_of_async_methods_is_an_object() {
    let mut books = now(Books::made_of(&["ada", "grace"]));
    now(books.put(Line("edsger"), Some("ada")));
    let shelf: Arc<dyn Shelf> = Arc::new(books);

    assert_eq!(shelf.size(), 3);
    assert_eq!(now(shelf.find("grace", &[])), Ok(Some(2)));
    assert_eq!(
        now(shelf.find("barbara", &["barbara".to_owned()])),
        Ok(Some(3))
    );
    assert_eq!(now(shelf.find("", &[])), Err("no name".to_owned()));
    assert_eq!(now(shelf.twice("edsger")), Ok(Some(2)));
    assert_eq!(now(shelf.borrowed()), "ada");
    assert_eq!(now(shelf.called(Box::new(str::len))), 14);
}

#[test]
fn an_owner_gives_itself_away() {
    let shelf: Box<dyn Shelf> = Box::new(Books(vec!["ada".to_owned()]));
    assert_eq!(now(shelf.taken()), ["ada"]);
}

/// Type parameters stay unchanged.
#[test]
fn a_port_may_be_generic() {
    #[port]
    trait Show<T: Display + Sync>: Sync {
        async fn show(&self, value: &T) -> String;
    }
    struct Quoted;
    #[port]
    impl<T: Display + Sync> Show<T> for Quoted {
        async fn show(&self, value: &T) -> String {
            format!("\"{value}\"")
        }
    }
    assert_eq!(now(Quoted.show(&7)), "\"7\"");
}
