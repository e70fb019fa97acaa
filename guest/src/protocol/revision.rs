//! What each revision of the protocol says, where they differ.
//!
//! Source: the change logs and schemas of
//! <https://modelcontextprotocol.io/specification/>, one page per revision.

use serde_json::{Map, Value, json};

/// The published revisions, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    /// 2024-11-05, the first.
    November2024,
    /// 2025-03-26: batches, tool annotations, messages with progress.
    March2025,
    /// 2025-06-18: titles, structured content; no batches any more.
    June2025,
    /// 2025-11-25: descriptions of the server; errors without an id may leave it out.
    November2025,
    /// 2026-07-28: no handshake, every request stands alone.
    July2026,
}

/// How a reply says that it belongs to no request that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoId {
    /// `"id": null`, as JSON-RPC has it.
    Null,
    /// No member `id`, as the schemas from 2025-11-25 on ask.
    Absent,
}

/// How long a list may be cached, in milliseconds: it changes only with the owner's flags,
/// that is, with the process.
const TTL_MS: u64 = 3_600_000;

/// The `_meta` key under which a modern result names its server.
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

impl Revision {
    /// Every revision, oldest first.
    pub(crate) const ALL: [Self; 5] = [
        Self::November2024,
        Self::March2025,
        Self::June2025,
        Self::November2025,
        Self::July2026,
    ];
    /// Their names, oldest first.
    pub(crate) const NAMES: [&str; 5] = {
        let mut names = [""; 5];
        let mut index = 0;
        while index < names.len() {
            names[index] = Self::ALL[index].name();
            index += 1;
        }
        names
    };
    /// The newest one that opens with a handshake: what `initialize` gets if it asks for
    /// anything else, and what a request without handshake is served by.
    pub(crate) const LEGACY: Self = Self::November2025;
    /// The newest one.
    pub(crate) const MODERN: Self = Self::July2026;

    /// Its name on the wire.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::November2024 => "2024-11-05",
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    /// The revision of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.name() == name)
    }

    /// What `initialize` is answered with: the revision that it asks for, or the newest one
    /// that has a handshake. Never an error: the client is the one to hang up.
    pub(crate) fn negotiate(asked: &str) -> Self {
        Self::find(asked)
            .filter(|revision| !revision.is_modern())
            .unwrap_or(Self::LEGACY)
    }

    /// The revisions that a request can name in its `_meta`.
    pub(crate) fn stateless() -> Vec<&'static str> {
        Self::ALL
            .into_iter()
            .filter(|revision| revision.is_modern())
            .map(Self::name)
            .collect()
    }

    /// Whether it is stateless.
    pub(crate) fn is_modern(self) -> bool {
        self >= Self::July2026
    }

    /// Whether several messages may come on one line.
    pub(crate) fn has_batches(self) -> bool {
        self == Self::March2025
    }

    /// Whether a tool result can carry an object beside its text.
    pub(crate) fn has_structured_content(self) -> bool {
        self >= Self::June2025
    }

    /// Whether a progress notification can carry a message.
    pub(crate) fn has_progress_message(self) -> bool {
        self >= Self::March2025
    }

    /// How an error reply says that it could not read an id. The schemas before 2025-11-25
    /// know neither form; JSON-RPC's own is taken there.
    pub(crate) fn no_id(self) -> NoId {
        if self >= Self::November2025 {
            NoId::Absent
        } else {
            NoId::Null
        }
    }

    /// What the server can do. Only what is there is declared, and the tool list never changes.
    pub(crate) fn capabilities(self) -> Value {
        json!({"tools": {}})
    }

    /// The server's name and version, with what the revision knows beside them.
    pub(crate) fn implementation(self) -> Value {
        let mut info = json!({"name": "sqlarium", "version": env!("CARGO_PKG_VERSION")});
        if self >= Self::June2025 {
            info["title"] = json!("sqlarium");
        }
        if self >= Self::November2025 {
            info["description"] = json!("A SQLite database behind glass: SQL in a sandbox");
        }
        info
    }

    /// A result, in the envelope of the revision.
    pub(crate) fn result(self, mut result: Map<String, Value>) -> Map<String, Value> {
        if self.is_modern() {
            result.insert("resultType".into(), json!("complete"));
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            meta[META_SERVER] = self.implementation();
        }
        result
    }

    /// A result that may be cached, in the envelope of the revision.
    pub(crate) fn cacheable(self, mut result: Map<String, Value>) -> Map<String, Value> {
        if self.is_modern() {
            result.insert("ttlMs".into(), json!(TTL_MS));
            result.insert("cacheScope".into(), json!("public"));
        }
        self.result(result)
    }

    /// A tool's declaration, reduced to the members that the revision knows. Where titles are
    /// known inside `annotations` only, the title goes there.
    pub(crate) fn tool(self, mut tool: Map<String, Value>) -> Map<String, Value> {
        if self >= Self::June2025 {
            return tool;
        }
        for member in ["outputSchema", "_meta", "icons", "execution"] {
            tool.shift_remove(member);
        }
        let title = tool.shift_remove("title");
        if self < Self::March2025 {
            tool.shift_remove("annotations");
        } else if let (Some(title), Some(annotations)) = (
            title,
            tool.get_mut("annotations").and_then(Value::as_object_mut),
        ) {
            annotations.entry("title").or_insert(title);
        }
        tool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Map<String, Value> {
        let tool = json!({
            "name": "sqlarium_query", "title": "Query", "description": "d",
            "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
        });
        tool.as_object().expect("an object").clone()
    }

    #[test]
    fn a_known_legacy_revision_is_echoed() {
        for name in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(Revision::negotiate(name).name(), name);
        }
    }

    #[test]
    fn an_unknown_or_modern_revision_is_answered_with_the_newest_that_has_a_handshake() {
        for name in ["2026-07-28", "1999-01-01", "", "DRAFT"] {
            assert_eq!(Revision::negotiate(name), Revision::November2025);
        }
    }

    #[test]
    fn only_one_revision_has_batches() {
        let with: Vec<_> = Revision::ALL
            .into_iter()
            .filter(|r| r.has_batches())
            .collect();
        assert_eq!(with, [Revision::March2025]);
    }

    #[test]
    fn a_tool_shows_each_revision_only_what_it_knows() {
        let members =
            |revision: Revision| revision.tool(tool()).keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            members(Revision::November2024),
            ["name", "description", "inputSchema"]
        );
        assert_eq!(
            members(Revision::March2025),
            ["name", "description", "inputSchema", "annotations"]
        );
        for revision in [
            Revision::June2025,
            Revision::November2025,
            Revision::July2026,
        ] {
            assert_eq!(revision.tool(tool()), tool());
        }
    }

    #[test]
    fn a_title_moves_into_the_annotations_where_tools_have_none() {
        let tool = Revision::March2025.tool(tool());
        assert_eq!(
            tool["annotations"],
            json!({"readOnlyHint": true, "title": "Query"})
        );
    }

    #[test]
    fn modern_results_say_that_they_are_complete_and_who_gives_them() {
        let result = Revision::July2026.cacheable(Map::new());
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["ttlMs"], 3_600_000);
        assert_eq!(result["cacheScope"], "public");
        assert_eq!(result["_meta"][META_SERVER]["name"], "sqlarium");
        assert_eq!(Revision::November2025.cacheable(Map::new()), Map::new());
    }
}
