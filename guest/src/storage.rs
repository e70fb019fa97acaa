//! The files of the sandbox, as `wit/storage.wit` describes them.
