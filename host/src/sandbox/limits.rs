//! How much memory an instance may have.

use wasmtime::{ResourceLimiter, Result};

/// What one table entry costs the host, in bytes.
const TABLE_ENTRY: usize = 8;

/// All linear memories and tables of one instance together.
#[derive(Debug)]
pub struct MemoryBudget {
    /// In bytes.
    limit: u64,
    pub(super) used: u64,
    /// Whether growth was refused since the call began.
    pub(super) refused: bool,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            used: 0,
            refused: false,
        }
    }

    fn grow(&mut self, current: usize, desired: usize, unit: usize) -> bool {
        let more = desired.saturating_sub(current).saturating_mul(unit) as u64;
        let fits = self
            .used
            .checked_add(more)
            .is_some_and(|sum| sum <= self.limit);
        if fits {
            self.used += more;
        } else {
            self.refused = true;
        }
        fits
    }
}

impl ResourceLimiter for MemoryBudget {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.grow(current, desired, 1))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.grow(current, desired, TABLE_ENTRY))
    }
}
