//! Writing a model together with its external data.

use std::io;
use std::path::Path;

use onnx_proto::wire::Segments;

use super::DataFile;
use crate::file::dir::Dir;
use crate::file::{FileError, Staged};
use crate::source::location::Location;

/// Writes an encoded model and the files of its external data, which stand relative to the model's directory.
///
/// All contents are written under temporary names first and brought to disk; then the data files take their names, and
/// the model last. So the files may replace those that the weights are mapped from. A failure before the first rename
/// changes nothing; a crash between two renames can leave new data beside the old model, which matters only if the old
/// model uses files of the same names.
///
/// A model that is a symbolic link stays one, and the file it leads to is replaced. A data file must be no link and go
/// through none, and its directory must exist.
///
/// # Errors
///
/// When the system fails, a location is not one that [`FileSource`](crate::FileSource) would read, or is the model itself.
pub fn save(model: impl AsRef<Path>, encoded: &Segments, files: &[DataFile]) -> Result<(), FileError> {
    let path = model.as_ref();
    let at_model = |error| FileError::write(path, error);
    let mut model = Staged::for_path(path).map_err(at_model)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let root = Dir::open(folder).map_err(at_model)?;
    let mut staged = Vec::new();
    for file in files {
        let at_file = |error| FileError::write(&folder.join(&file.location), error);
        let data = stage(&root, file, &model).map_err(at_file)?;
        staged.push((data, file));
    }
    model.write_pieces(encoded.iter()).and_then(|()| model.sync()).map_err(at_model)?;
    for (data, file) in staged {
        data.commit().map_err(|error| FileError::write(&folder.join(&file.location), error))?;
    }
    model.commit().map_err(at_model)
}

fn stage(root: &Dir, file: &DataFile, model: &Staged) -> io::Result<Staged> {
    let invalid = |message| io::Error::new(io::ErrorKind::InvalidInput, message);
    let location = Location::parse(&file.location).map_err(invalid)?;
    let (folders, name) = location.split();
    let mut data = Staged::in_dir(root.open_dir(folders)?, name)?;
    if data.has_same_target(model) {
        return Err(invalid("it is the model itself; choose another name for the external data"));
    }
    data.write_pieces(file.pieces.iter())?;
    data.sync()?;
    Ok(data)
}
