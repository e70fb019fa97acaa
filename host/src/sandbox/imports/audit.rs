//! The owner's record of calls (`wit/audit.wit`).

use wasmtime::{Error, Result};

use crate::audit;
use crate::sandbox::bindings::audit::{Call, Host, Outcome};
use crate::sandbox::store::StoreData;

impl Host for StoreData {
    fn begin(&mut self, call: Call) -> Result<()> {
        self.in_time()?;
        let Some(audit) = &self.audit else {
            return Ok(());
        };
        let arguments = call.arguments.into_iter();
        let call = audit::Call {
            request: call.request,
            thread: call.thread,
            tool: call.tool,
            arguments: arguments
                .map(|argument| (argument.name, argument.value))
                .collect(),
            sql: call.sql,
        };
        audit.begin(call, self.spent()).map_err(Error::msg)
    }

    fn end(&mut self, outcome: Outcome) -> Result<()> {
        self.in_time()?;
        let Some(audit) = &self.audit else {
            return Ok(());
        };
        let outcome = audit::Outcome {
            status: outcome.status,
            rows: outcome.rows,
            changes: outcome.changes,
        };
        audit.end(outcome, self.spent()).map_err(Error::msg)
    }

    fn trouble(&mut self) -> Result<Option<String>> {
        self.in_time()?;
        Ok(self.audit.as_ref().and_then(|audit| audit.trouble()))
    }
}
