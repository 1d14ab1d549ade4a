//! `cargo xtask attacks`: what every change runs in small, at its full size.

use crate::failure::Failure;
use crate::test;

pub(crate) const ABOUT: &str = "\
Measure at full size what every change measures in small. For the night.

--timing       whether answers tell by their time who a user is (attack 10): alone on the machine, about 30 minutes
--samples N    samples of each kind (2000; a change takes 200)
--no-install   install nothing with apt-get";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (mut timing, mut samples, mut install) = (false, 2_000_u32, true);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--timing" => timing = true,
            "--no-install" => install = false,
            "--samples" => match rest.next().and_then(|text| text.parse().ok()) {
                Some(number) if number > 0 => samples = number,
                _ => return Err(Failure::Usage("`--samples` needs a number.".to_owned())),
            },
            other => {
                let message = format!("`attacks` does not know `{other}`.");
                return Err(Failure::Usage(message));
            }
        }
    }
    if !timing {
        let message = "`attacks` needs to be told which: --timing. The others run in `test`.";
        return Err(Failure::Usage(message.to_owned()));
    }
    test::timing(install, samples)
}
