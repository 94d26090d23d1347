//! Whether each artefact of a release comes with the licences of what it contains.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::contents::Artefact;
use crate::workspace::{self, DISTRIBUTION, output, read};
use crate::{TaskResult, notices, wheel};

/// Prints a file of an archive that `zipfile` reads.
const UNZIP: &str = "import sys, zipfile\n\
    archive = zipfile.ZipFile(sys.argv[1])\n\
    name, = (name for name in archive.namelist() if name.endswith('/' + sys.argv[2]))\n\
    sys.stdout.write(archive.read(name).decode())";

/// Compares the files in the artefacts of a folder with those of the repository and with the lists of contents.
pub(super) fn check(folder: &Path, version: &str, processors: &[String]) -> TaskResult {
    for artefact in Artefact::ALL {
        let name = artefact.name();
        let committed = read(&workspace::root().join(notices::path(artefact)))?;
        for processor in processors {
            if found(artefact, folder, version, processor)? != committed {
                return Err(format!(
                    "the {name} for {processor} contains another file than {}",
                    notices::path(artefact)
                ));
            }
        }
        let bill = read(&folder.join(super::sbom::file(artefact)))?;
        let bill: Value =
            serde_json::from_str(&bill).map_err(|error| format!("the list of the {name}: {error}"))?;
        agree(&committed, &bill).map_err(|problem| format!("the {name}: {problem}"))?;
    }
    Ok(())
}

/// The file in an artefact.
fn found(artefact: Artefact, folder: &Path, version: &str, processor: &str) -> Result<String, String> {
    match artefact {
        Artefact::Command => {
            let name = super::artefacts::archive_name(version, artefact.target(processor)?);
            member(&folder.join(format!("{name}.tar.gz")), &format!("{name}/{}", notices::FILE))
        }
        Artefact::Npm => member(
            &folder.join(format!("{DISTRIBUTION}-{version}.tgz")),
            &format!("package/{}", notices::FILE),
        ),
        Artefact::Wheel => unzipped(folder, processor),
    }
}

/// Checks that the licences and the list of contents are about the same crates.
pub(super) fn agree(licenses: &str, bill: &Value) -> TaskResult {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let components = bill["components"].as_array().into_iter().flatten();
    // Crates of the workspace have no checksum.
    let mut others: Vec<(String, String)> = components
        .filter(|component| component["hashes"].is_array())
        .map(|component| (text(&component["name"]), text(&component["version"])))
        .collect();
    others.sort();
    let listed = notices::listed(licenses);
    let mut listed: Vec<(String, String)> =
        listed.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect();
    listed.sort();
    if listed == others && !listed.is_empty() {
        return Ok(());
    }
    Err(format!("licences of {} crates, and {} crates in the list of contents", listed.len(), others.len()))
}

fn member(archive: &Path, path: &str) -> Result<String, String> {
    output(Command::new("tar").arg("-xzOf").arg(archive).arg(path))
}

/// The file in the only wheel for a processor in a folder.
fn unzipped(folder: &Path, processor: &str) -> Result<String, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let ending = format!("_{processor}.whl");
    let mut wheels = entries.flatten().map(|entry| entry.path());
    let wheel = wheels
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending)))
        .ok_or_else(|| format!("{} has no wheel for {processor}", folder.display()))?;
    output(Command::new(wheel::environment()?).args(["-c", UNZIP]).arg(wheel).arg(notices::FILE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents;

    #[test]
    fn licences_and_lists_of_contents_are_about_the_same_crates() {
        for artefact in Artefact::ALL {
            let licenses = read(&workspace::root().join(notices::path(artefact))).unwrap();
            let (root, crates) = contents::crates(artefact, artefact.targets()[0]).unwrap();
            let lock = read(&workspace::root().join("Cargo.lock")).unwrap();
            let bill = crate::release::sbom::document(artefact, &root, &crates, &lock);
            agree(&licenses, &bill).unwrap();
            let missing = licenses.replacen("\ncfg-if ", "\n", 1);
            assert!(agree(&missing, &bill).is_err(), "{}", artefact.name());
        }
    }
}
