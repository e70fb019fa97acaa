//! `wit/` as Rust, for [`crate::component`] and [`crate::storage::wit`] alone.

wit_bindgen::generate!({
    path: "../wit",
    world: "sandbox",
    pub_export_macro: true,
});
