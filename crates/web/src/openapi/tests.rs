#[test]
fn print() {
    println!("{}", super::text());
}
