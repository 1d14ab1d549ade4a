//! `cargo xtask attacks`: what every change runs in small, at its full size.

use crate::failure::Failure;
use crate::test;

pub(crate) const ABOUT: &str = "\
Measure at full size what every change measures in small. For the night.

--timing       whether answers tell by their time who a user is (attack 10): an optimized build, alone on the machine, about
               30 minutes
--samples N    samples of each kind (2000; a change takes 200)
--claims       whether random histories end with each account in the right hands (attack 1): on the fakes, and a fiftieth of
               them over HTTP on each store
--histories N  how many (100000; a change takes 400)
--races        whether a hundred parallel calls, to two processes, ever make two of one thing (R1 to R11, attack 4)
--rounds N     how often each race is run (1000; a change runs 20)
--events       whether events, webhooks and the audit log lose something across kills, failovers and races (EV-K1 to EV-A2)
--no-install   install nothing with apt-get";

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
