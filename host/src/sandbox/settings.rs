//! What the guest is told of the budgets.

use super::bindings::types::{EngineLimits, OutputLimits};
use crate::budgets::Budgets;

impl From<&Budgets> for EngineLimits {
    fn from(budgets: &Budgets) -> Self {
        Self {
            memory_bytes: budgets.memory,
            disk_bytes: budgets.disk,
            busy_ms: u32::try_from(budgets.busy_timeout.as_millis()).unwrap_or(u32::MAX),
            sql_bytes: budgets.statement(),
            fuel: budgets.fuel,
        }
    }
}

impl From<&Budgets> for OutputLimits {
    fn from(budgets: &Budgets) -> Self {
        Self {
            reply_bytes: budgets.reply,
            text_bytes: budgets.text,
            cell_chars: budgets.cell,
            rows: budgets.rows.min(budgets.max_rows),
            max_rows: budgets.max_rows,
        }
    }
}
