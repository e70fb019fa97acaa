//! The component's side of `wit/`.
