//! Where a command's text goes: into a new file, or into the answer as far as it fits.

use std::io::{self, Write};

use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::command::interface::argument::{Argument, OVERWRITE, Shape, option};
use crate::command::interface::arguments::Arguments;
use crate::command::interface::context::{Context, Outlet};
use crate::render::FOOT;
use crate::render::room::Room;
use crate::storage::streams::{Files, STREAM, Writer};
use crate::text::escape::visible_lines;

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
        /// What there is left for more.
        room: Room,
        /// How many bytes are worth holding.
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
            None => {
                let mut room = Room::new(&context.settings.output);
                let budget = room.bytes();
                // For notes; more than they will be given, so that what fits here is shown.
                room.reserve((budget / 4).max(2 * FOOT));
                Ok(Self::Text {
                    bytes: Vec::new(),
                    whole: 0,
                    room,
                    budget,
                })
            }
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
                room,
                budget,
            } => {
                let fits = bytes.len() <= *budget && take(room, &bytes[*whole..]);
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
                mut bytes,
                mut whole,
                mut room,
                budget,
            } => {
                // What was held back until the end, or closes it.
                for line in bytes[whole..].split_inclusive(|&byte| byte == b'\n') {
                    if whole + line.len() > budget || !take(&mut room, line) {
                        break;
                    }
                    whole += line.len();
                }
                let fits = whole == bytes.len();
                bytes.truncate(whole);
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

/// Takes the room that a text will need when it is shown.
fn take(room: &mut Room, text: &[u8]) -> bool {
    room.try_take(&visible_lines(&String::from_utf8_lossy(text)))
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

    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        match self {
            Self::File { writer, .. } => writer.write_all(data),
            Self::Outlet(outlet) => outlet.borrow_mut().write_all(data),
            Self::Text { .. } => self.write(data).map(|_| ()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
