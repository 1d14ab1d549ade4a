//! `cargo xtask attacks`: what every change runs in small, at its full size.

use crate::failure::Failure;
use crate::test;

pub(crate) const ABOUT: &str = "\
Run the statistical attack tests at full size (nightly).

Every change runs the same tests at a smaller size.

--timing       check that response times do not reveal whether a user exists (attack 10): an optimized build, on an otherwise
               idle machine, about 30 minutes
--samples N    samples of each kind (default 2000; a change uses 200)
--claims       check that random histories give each account to its rightful owner (attack 1): on the fakes, and a fiftieth
               of them over HTTP on each store
--histories N  the number of histories (default 100000; a change uses 400)
--races        check that a hundred parallel calls to two processes never create duplicates (R1 to R11, attack 4)
--rounds N     the number of rounds of each race (default 1000; a change uses 20)
--events       check that events, webhooks and the audit log lose nothing in kills, failovers and races (EV-K1 to EV-A2)
--no-install   do not install anything with apt-get";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (mut timing, mut claims, mut races, mut events) = (false, false, false, false);
    let mut install = true;
    let (mut samples, mut histories, mut rounds) = (2_000_u32, 100_000_u32, 1_000_u32);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--timing" => timing = true,
            "--claims" => claims = true,
            "--races" => races = true,
            "--events" => events = true,
            "--no-install" => install = false,
            "--samples" => samples = number(argument, rest.next())?,
            "--rounds" => rounds = number(argument, rest.next())?,
            "--histories" => histories = number(argument, rest.next())?,
            other => {
                let message = format!("`attacks` does not know `{other}`.");
                return Err(Failure::Usage(message));
            }
        }
    }
    if !timing && !claims && !races && !events {
        let message = "`attacks` needs to be told which: --timing, --claims, --races or --events. The others run in `test`.";
        return Err(Failure::Usage(message.to_owned()));
    }
    if claims {
        test::histories(install, histories)?;
    }
    if races {
        test::races(install, rounds)?;
    }
    if events {
        test::events(install)?;
    }
    if timing {
        test::timing(install, samples)?;
    }
    Ok(())
}

fn number(flag: &str, text: Option<&String>) -> Result<u32, Failure> {
    let number = text.and_then(|text| text.parse().ok());
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| Failure::Usage(format!("`{flag}` needs a number.")))
}
