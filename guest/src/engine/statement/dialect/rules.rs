//! The rules, as data: what other databases have, and what SQLite has for it.

/// How a rule is told: words, or the names that it holds for, and the rest of "This is SQLite: …".
type Rule = (&'static [&'static str], &'static str);

const COLUMNS_OF: &str = "PRAGMA table_xinfo('t') gives the columns of t. sqlarium_describe has its \
     indexes and foreign keys as well.";
const TABLES_OF: &str = "SELECT name FROM sqlite_schema WHERE type = 'table' gives the tables. \
     sqlarium_tables has their numbers of rows as well.";
const INDEXES_OF: &str = "PRAGMA index_list('t') gives the indexes of t. sqlarium_indexes has all of \
     them.";
const SQL_OF: &str = "SELECT sql FROM sqlite_schema WHERE name = 't' gives the CREATE statement of t. \
     sqlarium_schema has all of them.";
const ONE_DATABASE: &str = "a database is a file, and this call works on the one that is open, so that \
     nothing has to be chosen or created. sqlarium_databases lists what there is.";
const NO_USERS: &str =
    "it has no users and no rights; whoever can read the file can read the data.";
const NO_ROUTINES: &str = "it has no stored procedures and no variables; send the statements one by \
     one, or make a trigger or a view.";
const ALTERS: &str = "ALTER TABLE can rename a table or a column, add or drop a column or a CHECK, and \
     SET or DROP NOT NULL; for anything else, create a new table, copy the rows with INSERT … SELECT, drop the old one and \
     rename the new one.";
const UPSERT: &str = "INSERT … ON CONFLICT(column) DO UPDATE SET x = excluded.x updates a row that \
     is there.";
const SHELL: &str = "a line that begins with a dot is a command of the sqlite3 program and no SQL. \
     sqlarium_help lists the tools.";
const PSQL: &str = "a line that begins with \\ is a command of psql and no SQL. sqlarium_help lists \
     the tools.";
const LOCKS: &str = "it locks the whole database by itself, for as long as a statement or a batch \
     writes.";
const IMPORTS: &str = "no statement reads or writes a file. sqlarium_import reads CSV.";
const SETTINGS: &str =
    "settings are PRAGMAs, as PRAGMA foreign_keys; PRAGMA pragma_list lists them.";
const TOP: &str = "SELECT … LIMIT 5 gives the first 5 rows, at the end of the statement.";
const CASTS: &str = "CAST(x AS INTEGER) casts; there is no ::.";
const PATTERNS: &str = "x REGEXP 'pattern' matches a regular expression, and LIKE ignores the case of \
     ASCII letters.";
const TODAY: &str = "datetime('now') is the time and date('now') the day, in UTC; \
     datetime('now', 'localtime') is local.";
const ADD_TIME: &str = "date(x, '+1 month') and datetime(x, '-3 days') add to a date; there is no \
     INTERVAL.";
const SUBTRACT_TIME: &str = "julianday(a) - julianday(b) is the difference in days, and \
     unixepoch(a) - unixepoch(b) that in seconds.";
const PART_OF_TIME: &str = "strftime('%Y', x) gives the year of a date, '%m' its month, '%d' its day, \
     '%H' the hour, '%w' the day of the week; CAST it AS INTEGER for a number.";
const TRUNCATE_TIME: &str = "date(x, 'start of month') and date(x, 'start of year') cut a date off, \
     and strftime('%Y-%m', x) gives its month.";
const FORMAT_TIME: &str = "strftime('%Y-%m-%d %H:%M', x) writes a date in any form.";
const PARSE_TIME: &str = "dates are text such as '2024-12-31 23:59:59', which sorts and compares as it \
     stands; there is nothing to convert.";
pub(super) const AUTO_KEY: &str = "id INTEGER PRIMARY KEY numbers new rows by itself; AUTOINCREMENT is one word, \
     and rarely needed.";
pub(super) const LIMITED: &str = "UPDATE and DELETE take neither ORDER BY nor LIMIT; WHERE rowid IN \
     (SELECT rowid FROM t ORDER BY x LIMIT 5) names so many rows.";
const RANDOM: &str = "random() is a random integer, and abs(random() % 100) one below 100.";
const FIND: &str = "instr(text, part) is the place of part in text, from 1, or 0.";
const APPLY: &str =
    "there is no APPLY; a subquery in the SELECT, or a window function, does most of it.";
const QUALIFY: &str = "there is no QUALIFY; filter the window function in a query around it.";
const ARRAYS: &str = "it has no arrays; FROM json_each('[1, 2]') makes rows of a JSON array.";
const LATERAL: &str =
    "there is no LATERAL; a subquery in the SELECT, or a window function, does most of it.";
const PIVOT: &str = "there is no PIVOT; sum(x) FILTER (WHERE y = 'a') makes a column of each.";
const IN_ORDER: &str =
    "group_concat(x, ', ' ORDER BY y) joins texts; percentile(x, 50) is a median.";
const DIVISION: &str = "a / b divides whole numbers without a rest, and a % b is the rest.";
const NO_BRACKETS: &str =
    "CURRENT_DATE, CURRENT_TIME and CURRENT_TIMESTAMP stand without brackets, and are in UTC.";
const PLACEHOLDERS: &str = "?1 and :name stand for values that the call gives in params.";
const NO_VALUE: &str = "a column that is left out of INSERT INTO t(a, b) gets its default; INSERT INTO t \
     DEFAULT VALUES gives all of them.";
const NO_DUAL: &str = "a SELECT needs no table: SELECT 1 + 1.";

/// How a statement begins. None of SQLite's begins so, if it fails where it is read.
#[rustfmt::skip]
pub(super) const BEGINNINGS: &[Rule] = &[
    (&["SHOW", "TABLES"], TABLES_OF),
    (&["SHOW", "FULL", "TABLES"], TABLES_OF),
    (&["SHOW", "VIEWS"], "SELECT name FROM sqlite_schema WHERE type = 'view' gives the views."),
    (&["SHOW", "TRIGGERS"], "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' gives the triggers."),
    (&["SHOW", "CREATE"], SQL_OF),
    (&["SHOW", "DATABASES"], ONE_DATABASE),
    (&["SHOW", "SCHEMAS"], ONE_DATABASE),
    (&["SHOW", "INDEX"], INDEXES_OF),
    (&["SHOW", "INDEXES"], INDEXES_OF),
    (&["SHOW", "KEYS"], INDEXES_OF),
    (&["SHOW", "COLUMNS"], COLUMNS_OF),
    (&["SHOW", "FULL", "COLUMNS"], COLUMNS_OF),
    (&["SHOW", "FIELDS"], COLUMNS_OF),
    (&["SHOW"], SETTINGS),
    (&["DESCRIBE"], COLUMNS_OF),
    (&["DESC"], COLUMNS_OF),
    (&["USE"], ONE_DATABASE),
    (&["CREATE", "DATABASE"], ONE_DATABASE),
    (&["CREATE", "SCHEMA"], ONE_DATABASE),
    (&["DROP", "DATABASE"], ONE_DATABASE),
    (&["DROP", "SCHEMA"], ONE_DATABASE),
    (&["CREATE", "OR", "REPLACE"], "there is no OR REPLACE; DROP … IF EXISTS first, then CREATE."),
    (&["CREATE", "USER"], NO_USERS),
    (&["CREATE", "ROLE"], NO_USERS),
    (&["GRANT"], NO_USERS),
    (&["REVOKE"], NO_USERS),
    (&["CREATE", "PROCEDURE"], NO_ROUTINES),
    (&["CREATE", "FUNCTION"], NO_ROUTINES),
    (&["CALL"], NO_ROUTINES),
    (&["EXEC"], NO_ROUTINES),
    (&["EXECUTE"], NO_ROUTINES),
    (&["DECLARE"], NO_ROUTINES),
    (&["SP_HELP"], COLUMNS_OF),
    (&["KILL"], "it has no sessions that could be ended; each statement ends with its call."),
    (&["DO"], NO_ROUTINES),
    (&["IF"], NO_ROUTINES),
    (&["PREPARE"], NO_ROUTINES),
    (&["DELIMITER"], "there is no DELIMITER; the body of a trigger ends with END and a semicolon."),
    (&["GO"], "there is no GO; statements are separated by semicolons."),
    (&["CREATE", "SEQUENCE"], AUTO_KEY),
    (&["CREATE", "TYPE"], "it has no types of one's own; CHECK(x IN ('a', 'b')) holds a column to a list."),
    (&["CREATE", "EXTENSION"], "extensions are built in or absent. sqlarium_capabilities lists what there is."),
    (&["CREATE", "MATERIALIZED"], "CREATE TABLE t AS SELECT … keeps the rows of a query; views are computed anew."),
    (&["TRUNCATE"], "DELETE FROM t without WHERE empties a table, as fast as TRUNCATE does."),
    (&["MERGE"], UPSERT),
    (&["UPSERT"], UPSERT),
    (&["RENAME", "TABLE"], "ALTER TABLE t RENAME TO other renames a table."),
    (&["SET"], SETTINGS),
    (&["LOCK"], LOCKS),
    (&["UNLOCK"], LOCKS),
    (&["FLUSH"], LOCKS),
    (&["START", "TRANSACTION"], "BEGIN starts a transaction. sqlarium_batch runs several statements in one, all or nothing."),
    (&["COPY"], IMPORTS),
    (&["LOAD", "DATA"], IMPORTS),
    (&["OPTIMIZE"], "VACUUM compacts the file, and ANALYZE gathers statistics for the planner."),
    (&["CHECK", "TABLE"], "PRAGMA integrity_check checks the whole database. sqlarium_integrity_check reports what it finds."),
    (&["COMMENT", "ON"], "it keeps no comments on tables but those in their CREATE statement."),
    (&["\\", "dt"], TABLES_OF),
    (&["\\", "d", "+"], COLUMNS_OF),
    (&["\\", "d", "*"], COLUMNS_OF),
    (&["\\", "d"], TABLES_OF),
    (&["\\", "di"], INDEXES_OF),
    (&["\\", "dv"], "SELECT name FROM sqlite_schema WHERE type = 'view' gives the views."),
    (&["\\", "l"], ONE_DATABASE),
    (&["\\", "c"], ONE_DATABASE),
    (&["\\", "du"], NO_USERS),
    (&["\\"], PSQL),
    (&[".", "tables"], TABLES_OF),
    (&[".", "schema"], SQL_OF),
    (&[".", "fullschema"], SQL_OF),
    (&[".", "indexes"], INDEXES_OF),
    (&[".", "indices"], INDEXES_OF),
    (&[".", "databases"], ONE_DATABASE),
    (&[".", "open"], ONE_DATABASE),
    (&[".", "dump"], "a line that begins with a dot is a command of the sqlite3 program and no SQL. sqlarium_dump writes the database as SQL."),
    (&[".", "import"], "a line that begins with a dot is a command of the sqlite3 program and no SQL. sqlarium_import reads CSV."),
    (&[".", "backup"], "a line that begins with a dot is a command of the sqlite3 program and no SQL. sqlarium_backup copies the database."),
    (&[".", "dbinfo"], "a line that begins with a dot is a command of the sqlite3 program and no SQL. sqlarium_stats has the numbers."),
    (&["."], SHELL),
];

/// Words around the place where SQLite stumbled.
#[rustfmt::skip]
pub(super) const PLACES: &[Rule] = &[
    (&["TOP", "#"], TOP),
    (&["TOP", "(", "#", ")", "*", "FROM"], TOP),
    (&["FETCH", "FIRST"], TOP),
    (&["FETCH", "NEXT"], TOP),
    (&["OFFSET", "#", "ROWS"], "LIMIT 5 OFFSET 10 leaves out the first 10 rows and gives the next 5."),
    (&["EXPLAIN", "ANALYZE", "*"], "EXPLAIN QUERY PLAN tells how a statement would run; none is timed. sqlarium_explain does the same."),
    (&[":", ":"], CASTS),
    (&["ILIKE"], "LIKE ignores the case of ASCII letters; there is no ILIKE."),
    (&["ILIKE", "*"], "LIKE ignores the case of ASCII letters; there is no ILIKE."),
    (&["RLIKE", "*"], PATTERNS),
    (&["RLIKE"], PATTERNS),
    (&["SIMILAR", "TO"], PATTERNS),
    (&["~"], PATTERNS),
    (&["!", "~"], PATTERNS),
    (&["INTERVAL", "'"], ADD_TIME),
    (&["INTERVAL", "#"], ADD_TIME),
    (&["TIMESTAMP", "'"], PARSE_TIME),
    (&["DATE", "'"], PARSE_TIME),
    (&["EXTRACT", "(", "*", "FROM"], PART_OF_TIME),
    (&["SUBSTRING", "(", "*", "FROM"], "substr(text, start, length) cuts a part out, counted from 1."),
    (&["TRIM", "(", "*", "FROM"], "trim(text, characters), ltrim and rtrim take characters off the ends."),
    (&["LEADING", "*"], "trim(text, characters), ltrim and rtrim take characters off the ends."),
    (&["TRAILING", "*"], "trim(text, characters), ltrim and rtrim take characters off the ends."),
    (&["BOTH", "*"], "trim(text, characters), ltrim and rtrim take characters off the ends."),
    (&["ISNULL", "("], "ifnull(x, 0) and coalesce(x, y, 0) replace NULL; x ISNULL tests for it."),
    (&["AUTO_INCREMENT"], AUTO_KEY),
    (&["IDENTITY"], AUTO_KEY),
    (&["GENERATED", "BY"], AUTO_KEY),
    (&["GENERATED", "ALWAYS", "AS", "IDENTITY"], AUTO_KEY),
    (&["ENGINE", "="], OPTIONS),
    (&["CHARSET", "="], OPTIONS),
    (&["CHARACTER", "SET"], "text is always UTF-8 or UTF-16; leave CHARACTER SET out."),
    (&["ENUM", "(", "'"], "it has no ENUM; CHECK(x IN ('a', 'b')) holds a column to a list."),
    (&["ON", "UPDATE", "CURRENT_TIMESTAMP"], "an AFTER UPDATE trigger sets a time of change; there is no ON UPDATE."),
    (&["KEY", "*", "(", "*"], "CREATE INDEX name ON t(column) makes an index, in a statement of its own."),
    (&["INDEX", "*", "(", "*"], "CREATE INDEX name ON t(column) makes an index, in a statement of its own."),
    (&["ON", "DUPLICATE", "KEY"], UPSERT),
    (&["INSERT", "IGNORE"], "INSERT OR IGNORE INTO passes over rows that are there."),
    (&["INSERT", "INTO", "*", "SET"], "INSERT INTO t(a, b) VALUES(1, 2) names the columns first; there is no SET."),
    (&["INSERT", "OVERWRITE"], UPSERT),
    (&["DISTINCT", "ON"], "there is no DISTINCT ON; GROUP BY, or row_number() OVER (PARTITION BY …) = 1 in a subquery, keeps one row each."),
    (&["FOR", "UPDATE"], LOCKS),
    (&["FOR", "SHARE"], LOCKS),
    (&["WITH", "(", "NOLOCK"], LOCKS),
    (&["LATERAL"], LATERAL),
    (&["LATERAL", "("], LATERAL),
    (&["LATERAL", "(", "*"], LATERAL),
    (&["TABLESAMPLE", "*"], "ORDER BY random() LIMIT 100 takes a sample; there is no TABLESAMPLE."),
    (&["DIV", "*"], DIVISION),
    (&["MOD", "*"], DIVISION),
    (&["/", "/"], DIVISION),
    (&["^"], "power(a, b) is a power; there is no ^."),
    (&["TRY_CAST", "(", "*", "AS"], "CAST(x AS INTEGER), AS REAL or AS TEXT casts."),
    (&["CURRENT_DATE", "("], NO_BRACKETS),
    (&["CURRENT_TIME", "("], NO_BRACKETS),
    (&["CURRENT_TIMESTAMP", "("], NO_BRACKETS),
    (&["MINUS", "SELECT"], "EXCEPT is what others call MINUS."),
    (&["#…"], "a comment begins with --, or stands between /* and */."),
    (&["\\", "G"], "\\G belongs to the mysql program; leave it out."),
    (&["%", "s"], PLACEHOLDERS),
    (&["{"], PLACEHOLDERS),
    (&["*", ":", "="], NO_ROUTINES),
    (&["DEFAULT", "*", "("], "DEFAULT takes an expression in brackets: DEFAULT (datetime('now'))."),
    (&["VALUES", "(", "DEFAULT"], NO_VALUE),
    (&[",", "DEFAULT"], NO_VALUE),
    (&["VALUES", "(", ")"], NO_VALUE),
    (&["ADD", "COLUMN", "("], "ALTER TABLE t ADD COLUMN x adds one column at a time."),
    (&["UPDATE", "*", "*", "SET"], "UPDATE t AS x SET … gives the table another name."),
    (&["DELETE", "FROM", "*", "USING"], "DELETE FROM t WHERE id IN (SELECT …) takes another table into account."),
    (&["CROSS", "APPLY"], APPLY),
    (&["CROSS", "APPLY", "*"], APPLY),
    (&["OUTER", "APPLY"], APPLY),
    (&["CROSS", "APPLY", "*", "*"], APPLY),
    (&["OUTER", "APPLY", "*"], APPLY),
    (&["OUTER", "APPLY", "*", "*"], APPLY),
    (&["QUALIFY"], QUALIFY),
    (&["QUALIFY", "*"], QUALIFY),
    (&["ARRAY", "[…"], ARRAYS),
    (&["CONCURRENTLY", "*"], "there is no CONCURRENTLY; leave it out."),
    (&["PIVOT"], PIVOT),
    (&["PIVOT", "("], PIVOT),
    (&["WITH", "ROLLUP"], "there is no ROLLUP; add the totals with UNION ALL."),
    (&["GROUPING", "SETS"], "there is no GROUPING SETS; add the groups with UNION ALL."),
    (&["SEPARATOR"], "group_concat(x, ', ') takes the separator as its second argument."),
    (&["SEPARATOR", "'"], "group_concat(x, ', ') takes the separator as its second argument."),
    (&["WITHIN", "GROUP"], IN_ORDER),
    (&["WITHIN", "GROUP", "("], IN_ORDER),
    (&["ALL", "("], "there is no ANY or ALL; IN (SELECT …), max() and min() do the same."),
    (&["MODIFY"], ALTERS),
    (&["CHANGE"], ALTERS),
    (&["ALTER", "COLUMN"], ALTERS),
    (&["ALTER", "COLUMN", "*", "TYPE"], ALTERS),
    (&["ALTER", "*", "TYPE"], ALTERS),
    (&["ALTER", "COLUMN", "*", "SET", "*"], ALTERS),
    (&["ADD", "CONSTRAINT"], ALTERS),
    (&["ADD", "CONSTRAINT", "*", "*"], ALTERS),
    (&["ADD", "PRIMARY"], ALTERS),
    (&["ADD", "FOREIGN"], ALTERS),
    (&["ADD", "UNIQUE"], ALTERS),
    (&["ADD", "("], "ALTER TABLE t ADD COLUMN x adds one column at a time."),
    (&["DROP", "TABLE", "*", ","], "DROP TABLE drops one table at a time."),
    (&["DROP", "TABLE", "IF", "EXISTS", "*", ","], "DROP TABLE drops one table at a time."),
    (&["CASCADE"], "DROP has no CASCADE; drop what depends on it first."),
    (&["RESTRICT"], "DROP has no RESTRICT; leave it out."),
    (&["DELETE", "*", "FROM"], "DELETE FROM t WHERE … names one table; join with WHERE id IN (SELECT …)."),
    (&["UPDATE", "*", "JOIN"], "UPDATE t SET … FROM other WHERE … joins another table."),
    (&["UPDATE", "*", "*", "JOIN"], "UPDATE t SET … FROM other WHERE … joins another table."),
    (&["UPDATE", "*", "INNER"], "UPDATE t SET … FROM other WHERE … joins another table."),
    (&["INTO", "*", "FROM"], "CREATE TABLE t AS SELECT … keeps the rows of a query."),
    (&["STRAIGHT_JOIN"], "CROSS JOIN keeps the order of the tables."),
    (&["E", "'"], "text is 'text' with '' for a quote; backslashes stand for themselves, and char(10) is a line break."),
    (&["N", "'"], "text is 'text', and always Unicode."),
    (&["@", "@"], SETTINGS),
    (&["$", "$"], NO_ROUTINES),
];

/// The same for text that was encoded or escaped; these sentences stand alone.
#[rustfmt::skip]
pub(super) const ENCODED: &[Rule] = &[
    (&["\\", "n…"], "The SQL has \\n where a line break was meant; encode it once less."),
    (&["&", "lt", ";"], "The SQL has &lt; where < was meant; encode it once less."),
    (&["&", "gt", ";"], "The SQL has &gt; where > was meant; encode it once less."),
];

/// A quote with a backslash in front of it.
pub(super) const BACKSLASH: &str =
    "A quote in a text is doubled: 'it''s'; a backslash stands for itself.";

/// What SQLite calls an unknown option of a table.
pub(super) const OPTIONS: &str = "a table has no ENGINE, CHARSET or COMMENT; leave out what follows the closing \
     parenthesis.";

/// Functions that SQLite does not have, in lower case.
#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Rule] = &[
    (&["top"], TOP),
    (&["now", "getdate", "curdate", "sysdate", "getutcdate", "today", "curtime", "localtimestamp", "sysdatetime", "utc_timestamp"], TODAY),
    (&["date_trunc", "trunc_date", "last_day", "eomonth"], TRUNCATE_TIME),
    (&["date_add", "date_sub", "dateadd", "adddate", "subdate", "add_months", "addtime"], ADD_TIME),
    (&["datediff", "date_diff", "timestampdiff", "age", "months_between"], SUBTRACT_TIME),
    (&["extract", "date_part", "datepart", "year", "month", "day", "hour", "minute", "second", "week", "quarter", "dayofweek", "dayofmonth", "dayofyear", "weekday", "datename", "monthname", "dayname"], PART_OF_TIME),
    (&["to_char", "date_format", "format_date", "time_format"], FORMAT_TIME),
    (&["to_date", "to_timestamp", "str_to_date", "parse_date", "timestamp", "convert_tz"], PARSE_TIME),
    (&["unix_timestamp"], "unixepoch(x) is a time in seconds since 1970."),
    (&["from_unixtime"], "datetime(x, 'unixepoch') is the time of seconds since 1970."),
    (&["nvl", "isnull", "nvl2", "zeroifnull"], "ifnull(x, 0) and coalesce(x, y, 0) replace NULL."),
    (&["decode", "choose"], "CASE x WHEN 1 THEN 'a' ELSE 'b' END chooses."),
    (&["len", "char_length", "character_length", "datalength"], "length(x) counts the characters of a text, and octet_length(x) its bytes."),
    (&["charindex", "locate", "position", "strpos", "patindex", "find_in_set"], FIND),
    (&["left"], "substr(text, 1, 3) gives the first 3 characters."),
    (&["right"], "substr(text, -3) gives the last 3 characters."),
    (&["mid", "substring_index", "split_part"], "substr(text, start, length) and instr(text, part) take a text apart."),
    (&["lpad", "rpad"], "printf('%10s', x) and printf('%-10s', x) fill up to 10 characters, and printf('%05d', n) with zeros."),
    (&["ucase"], "upper(x) gives capital letters."),
    (&["lcase"], "lower(x) gives small letters."),
    (&["regexp_replace", "regexp_substr", "regexp_extract", "regexp_count", "regexp_instr"], "replace(text, part, other) replaces a text, and instr and substr take one apart; x REGEXP 'pattern' only matches."),
    (&["stddev", "stdev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"], "sqrt(avg(x * x) - avg(x) * avg(x)) is the standard deviation of a group."),
    (&["generate_series"], "generate_series is a table: SELECT value FROM generate_series(1, 10)."),
    (&["regexp_like", "regexp_matches", "regexp_match", "rlike"], PATTERNS),
    (&["greatest"], "max(a, b) is the greater of its arguments."),
    (&["least"], "min(a, b) is the lesser of its arguments."),
    (&["rand", "newid", "gen_random_uuid", "dbms_random"], RANDOM),
    (&["convert", "try_cast", "try_convert", "to_number", "parse_int", "int", "safe_cast"], "CAST(x AS INTEGER), AS REAL or AS TEXT casts."),
    (&["listagg", "wm_concat", "array_to_string"], "group_concat(x, ', ') joins the texts of a group."),
    (&["array_agg", "json_agg", "json_arrayagg", "jsonb_agg"], "json_group_array(x) makes an array of a group."),
    (&["json_object_agg", "json_objectagg"], "json_group_object(name, value) makes an object of a group."),
    (&["unnest", "json_table", "openjson", "jsonb_array_elements", "json_array_elements", "string_split"], "FROM json_each(x) makes rows of a JSON array."),
    (&["json_value", "json_query", "json_extract_path_text", "json_unquote"], "json_extract(x, '$.name') and x ->> 'name' read JSON."),
    (&["any", "some"], "there is no ANY or ALL; IN (SELECT …), max() and min() do the same."),
    (&["rollup", "cube"], "there is no ROLLUP; add the totals with UNION ALL."),
    (&["last_insert_id", "scope_identity", "lastval"], "last_insert_rowid() is the rowid of the last row inserted, and INSERT … RETURNING id gives it at once."),
    (&["nextval", "currval", "setval"], AUTO_KEY),
    (&["found_rows", "row_count"], "changes() counts the rows that the statement before changed."),
    (&["version"], "sqlite_version() is the version."),
    (&["database", "current_database", "schema", "db_name"], ONE_DATABASE),
    (&["user", "current_user", "session_user", "system_user"], NO_USERS),
    (&["sleep", "pg_sleep", "benchmark"], "no function waits."),
    (&["bool_or", "every", "bool_and", "logical_or", "logical_and"], "max(x > 0) is whether one of a group is, and min(x > 0) whether all are."),
    (&["pg_size_pretty", "pg_total_relation_size", "pg_relation_size", "pg_database_size"], "PRAGMA page_count times PRAGMA page_size is the size of the file. sqlarium_stats has that of each table."),
    (&["md5", "sha1", "sha2", "sha256"], "it has no such hash; compare the values themselves, or hash them outside."),
    (&["load_file"], IMPORTS),
];

/// Tables that other databases have; one with a dot at its end is a schema.
#[rustfmt::skip]
pub(super) const TABLES: &[Rule] = &[
    (&["information_schema.columns", "information_schema.key_column_usage", "pg_attribute", "pg_catalog.pg_attribute", "sys.columns", "all_tab_columns", "user_tab_columns"], COLUMNS_OF),
    (&["information_schema.", "pg_catalog.", "sys.", "pg_tables", "pg_class", "pg_namespace", "pg_views", "sysobjects", "all_tables", "user_tables", "dba_tables"], TABLES_OF),
    (&["pg_indexes", "pg_index", "all_indexes", "user_indexes"], INDEXES_OF),
    (&["dual", "sysibm.sysdummy1"], NO_DUAL),
    (&["mysql.", "pg_user", "pg_roles"], NO_USERS),
    (&["pg_database"], ONE_DATABASE),
    (&["full"], "VACUUM compacts the whole file; leave FULL out."),
    (&["generate_series"], "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n counts."),
    (&["unnest"], "FROM json_each(x) makes rows of a JSON array."),
];

/// Columns that other databases have everywhere.
#[rustfmt::skip]
pub(super) const COLUMNS: &[Rule] = &[
    (&["sysdate", "getdate", "systimestamp", "localtimestamp"], TODAY),
    (&["rownum"], "row_number() OVER (ORDER BY x) numbers rows, and LIMIT 5 gives the first 5."),
    (&["current_user", "session_user"], NO_USERS),
    (&["array"], ARRAYS),
];
