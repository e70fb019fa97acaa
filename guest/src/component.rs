//! The component's side of `wit/`.

#[expect(
    missing_docs,
    clippy::allow_attributes_without_reason,
    reason = "generated"
)]
pub mod bindings {
    wit_bindgen::generate!({ world: "sandbox", path: "../wit" });
}
