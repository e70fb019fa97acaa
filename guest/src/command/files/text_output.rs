//! Where a command's text goes: into a new file, or into the answer as far as it fits.

use std::io::{self, Write};

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::interface::argument::{Argument, OVERWRITE, Shape, option};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::context::{Context, Outlet};
use crate::storage::streams::{Files, STREAM, Writer};

/// The file to make.
pub(crate) const OUT: Argument = option(
    "out",
    Shape::OutputPath,
    "File to create below the root, instead of the answer.",
);

/// Where text goes.
pub(crate) enum TextOutput {
    /// Into a file.
    File {
        /// The file.
        writer: Writer,
        /// Its name.
        name: String,
    },
    /// To whoever runs the command.
    Outlet(Outlet),
    /// Into the answer.
    Text {
        /// The text so far.
        bytes: Vec<u8>,
        /// How much of it is whole rows or statements that fit.
        whole: usize,
        /// How many bytes fit.
        budget: usize,
    },
}

impl TextOutput {
    /// What the arguments ask for.
    ///
    /// # Errors
    ///
    /// As for [`Files::write`].
    pub(crate) fn open(context: &Context, arguments: &Arguments) -> Result<Self, Failure> {
        match arguments.text(OUT.name) {
            Some(STREAM) if let Some(outlet) = &context.outlet => Ok(Self::Outlet(outlet.clone())),
            Some(name) => Ok(Self::File {
                writer: context
                    .engine
                    .files()
                    .write(name, arguments.flag(OVERWRITE.name))?,
                name: name.to_owned(),
            }),
            None => Ok(Self::Text {
                bytes: Vec::new(),
                whole: 0,
                // A quarter is reserved for notes.
                budget: context.settings.output.text_bytes as usize / 4 * 3,
            }),
        }
    }

    /// Whether it is for reading rather than for programs.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. })
    }

    /// A row or a statement has been written. False if it did not fit, and is gone again.
    pub(crate) fn row(&mut self) -> bool {
        match self {
            Self::File { .. } | Self::Outlet(_) => true,
            Self::Text {
                bytes,
                whole,
                budget,
            } => {
                let fits = bytes.len() <= *budget;
                if fits {
                    *whole = bytes.len();
                } else {
                    bytes.truncate(*whole);
                }
                fits
            }
        }
    }

    /// Ends it: gives the file its name, or puts the text into `output`. False if lines were cut off the text.
    ///
    /// # Errors
    ///
    /// As for [`Files::write`].
    pub(crate) fn finish(self, files: &Files, output: &mut Output) -> Result<bool, Failure> {
        match self {
            Self::File { writer, name } => {
                let bytes = writer.position();
                writer.publish().map_err(|error| files.failure(&error))?;
                output.extra.insert("file".into(), name.as_str().into());
                output.extra.insert("bytes".into(), bytes.into());
                output.text = Some(if name == STREAM {
                    String::new()
                } else {
                    format!("Wrote {name} ({bytes} bytes)\n")
                });
                Ok(true)
            }
            Self::Outlet(_) => {
                output.text = Some(String::new());
                Ok(true)
            }
            Self::Text {
                mut bytes, budget, ..
            } => {
                let fits = bytes.len() <= budget;
                if !fits {
                    let end = bytes[..budget].iter().rposition(|&byte| byte == b'\n');
                    bytes.truncate(end.map_or(0, |at| at + 1));
                }
                let text = String::from_utf8_lossy(&bytes);
                if matches!(text, std::borrow::Cow::Owned(_)) {
                    output.notes.push(
                        "Bytes that are not UTF-8 are shown as �; a file gets them unchanged."
                            .into(),
                    );
                }
                output.text = Some(text.into_owned());
                Ok(fits)
            }
        }
    }
}

impl Write for TextOutput {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::File { writer, .. } => writer.write(data),
            Self::Outlet(outlet) => outlet.borrow_mut().write(data),
            // What is beyond the budget goes again, so it need not be held.
            Self::Text { bytes, budget, .. } if bytes.len() > *budget => Ok(data.len()),
            Self::Text { bytes, .. } => bytes.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
