//! Components that misbehave, precompiled with the host's own configuration.
//!
//! For the host's unit tests alone: what people run embeds one component and loads no other.

/// Has all exports of the world `sandbox`, and does to its imports what the line says.
pub static COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hostile.cwasm"));

/// Has no exports: grows a table by a million elements, a thousand times, when it is instantiated.
pub static TABLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tables.cwasm"));
