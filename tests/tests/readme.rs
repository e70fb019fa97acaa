//! The README: its commands run, and print what it shows; its tables are those of the program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sqlarium_tests::{Folder, Server, binary, finish, run, sqlarium};

/// Where the README's reader has the program and the database.
const PROGRAM: &str = "/home/you/.cargo/bin/sqlarium";
const HOME: &str = "/home/you";

/// What `.ci/run` runs: not from within a test.
const RUN_BY_CI: [&str; 3] = ["make demo", "make test", "make install"];

fn readme() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    fs::read_to_string(path).expect("the README")
}

/// The fenced blocks with this info string.
fn blocks(info: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut current: Option<(String, String)> = None;
    for line in readme().lines() {
        current = match (current, line.strip_prefix("```")) {
            (None, Some(info)) => Some((info.to_owned(), String::new())),
            (None, None) => None,
            (Some((kind, body)), Some(_)) => {
                if kind == info {
                    blocks.push(body);
                }
                None
            }
            (Some((kind, body)), None) => Some((kind, format!("{body}{line}\n"))),
        };
    }
    blocks
}

/// What stands between two markers.
fn section(name: &str) -> String {
    let readme = readme();
    let start = readme
        .split_once(&format!("<!-- {name} -->\n"))
        .expect(name)
        .1;
    start
        .split_once(&format!("<!-- /{name} -->"))
        .expect(name)
        .0
        .trim()
        .to_owned()
}

#[test]
fn every_command_prints_what_the_readme_shows() {
    let folder = Folder::new();
    let bin = folder.path("bin");
    let home = folder.path("home");
    fs::create_dir(&bin).expect("a folder");
    fs::create_dir(&home).expect("a folder");
    let program = binary().canonicalize().expect("the program");
    symlink(&program, bin.join("sqlarium")).expect("a link");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("PATH"));
    let home = home.canonicalize().expect("a path");

    let mut commands = 0;
    for block in blocks("console run") {
        let mut printed = String::new();
        for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let mut shell = std::process::Command::new("sh");
            shell
                .arg("-c")
                .arg(line)
                .env("PATH", &path)
                .current_dir(&home);
            let finished = finish(&mut shell);
            assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
            printed.push_str(&format!("$ {line}\n{}", finished.stdout));
            commands += 1;
        }
        let printed = printed
            .replace(program.to_str().expect("a path"), PROGRAM)
            .replace(home.to_str().expect("a path"), HOME);
        assert_eq!(printed, block, "the README shows the right side");
    }
    assert!(commands >= 10, "{commands} commands");
}

#[test]
fn every_other_command_is_one_that_ci_runs() {
    let blocks = blocks("sh");
    assert!(!blocks.is_empty());
    for line in blocks.iter().flat_map(|block| block.lines()) {
        let command = line.split('#').next().expect("a command").trim();
        assert!(RUN_BY_CI.contains(&command), "{command} is run by nobody");
    }
}

#[test]
fn every_command_in_the_text_works() {
    let readme = readme();
    let spans = readme
        .split('`')
        .filter(|span| span.starts_with("sqlarium ") && !span.contains('\n'));
    // Words in capitals stand for something else.
    let whole = spans.filter(|span| !span.contains(|c: char| c.is_ascii_uppercase()));
    let mut commands = 0;
    for command in whole {
        let finished = run(command.split(' ').skip(1));
        assert_eq!(finished.code, Some(0), "{command}: {}", finished.stderr);
        commands += 1;
    }
    assert!(commands >= 3, "{commands} commands");
}

#[test]
fn the_table_of_tools_is_that_of_the_program() {
    let mut server = Server::ready(["--root", "."]);
    let tools = server.ask("tools/list", json!({}));
    let help = run(["help", "--output", "json"]);
    let help: Value = serde_json::from_str(&help.stdout).expect("JSON");
    let mut table = String::from("| Tool | Arguments | What it does |\n|---|---|---|\n");
    for row in help["rows"].as_array().expect("rows") {
        let name = row[0].as_str().expect("a name");
        let tool = format!("sqlarium_{}", name.replace('-', "_"));
        let tool = tools["result"]["tools"]
            .as_array()
            .and_then(|tools| tools.iter().find(|listed| listed["name"] == *tool))
            .unwrap_or_else(|| panic!("{tool} is not listed"));
        let required = tool["inputSchema"]["required"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let arguments: Vec<String> = tool["inputSchema"]["properties"]
            .as_object()
            .expect("properties")
            .keys()
            .filter(|argument| !["db", "output"].contains(&argument.as_str()))
            .map(|argument| {
                let optional = if required.iter().any(|name| name == argument) {
                    ""
                } else {
                    "?"
                };
                format!("{argument}{optional}")
            })
            .collect();
        let summary = row[2].as_str().expect("a summary");
        table.push_str(&format!(
            "| `{name}` | {} | {summary} |\n",
            arguments.join(", ")
        ));
    }
    assert_eq!(
        section("tools"),
        table.trim(),
        "the README has the left side"
    );
}

/// The flags as `sqlarium mcp --help` lists them: name, value, what it is, default.
fn flags() -> Vec<[String; 3]> {
    let help = finish(sqlarium().args(["mcp", "--help"]).env("COLUMNS", "1000")).stdout;
    let mut flags = Vec::new();
    for line in help
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("--"))
    {
        let (flag, about) = line
            .split_once("  ")
            .unwrap_or_else(|| panic!("no text in {line}"));
        let (about, default) = match about.trim().split_once(" [default: ") {
            Some((about, default)) => (about, default.trim_end_matches(']')),
            None => (about.trim(), ""),
        };
        flags.push([flag.to_owned(), about.to_owned(), default.to_owned()]);
    }
    flags
}

#[test]
fn the_table_of_flags_is_that_of_the_program() {
    let mut table = String::from("| Flag | What it is | Default |\n|---|---|---|\n");
    for [flag, about, default] in flags() {
        let default = if default.is_empty() {
            String::new()
        } else {
            format!("`{default}`")
        };
        table.push_str(&format!("| `{flag}` | {about} | {default} |\n"));
    }
    assert_eq!(
        section("flags"),
        table.trim(),
        "the README has the left side"
    );
}

/// The file of a module, if there is one.
fn module(root: &Path, segments: &[&str]) -> Option<String> {
    let path = segments
        .iter()
        .fold(root.to_owned(), |path, name| path.join(name));
    [path.with_extension("rs"), path.join("mod.rs")]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok())
}

/// Whether `path` names a module with tests, or a test.
fn is_test(path: &str) -> bool {
    let segments: Vec<&str> = path.split("::").collect();
    let (last, parents) = segments.split_last().expect("a name");
    // A module's tests may stand in its own file.
    let file = match parents.split_last() {
        Some((&"tests", file)) => file,
        _ => parents,
    };
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    ["tests/tests", "host/src", "guest/src"].iter().any(|root| {
        let root = repository.join(root);
        let named = |text: String| {
            let function = format!("fn {last}()");
            text.split("#[test]").skip(1).any(|rest| {
                let signature = rest.split('{').next().unwrap_or_default();
                signature.contains(&function)
            })
        };
        module(&root, &segments).is_some_and(|text| text.contains("#[test]"))
            || [parents, file]
                .iter()
                .any(|parents| module(&root, parents).is_some_and(named))
    })
}

#[test]
fn every_claim_of_the_security_page_names_tests_that_exist() {
    assert!(!is_test("survival::cuts::nothing"));
    assert!(!is_test("survival::nothing"));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../SECURITY.md");
    let page = fs::read_to_string(page).expect("SECURITY.md");
    let boundary = page
        .split("## ")
        .find(|part| part.starts_with("The sandbox boundary"));
    let mut claims = 0;
    for claim in boundary
        .expect("its part")
        .split("\n\n")
        .filter(|claim| claim.starts_with("**"))
    {
        let named: Vec<&str> = claim
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|code| code.contains("::"))
            .collect();
        assert!(!named.is_empty(), "no test is named: {claim}");
        for test in named {
            assert!(
                is_test(test),
                "SECURITY.md names a test that is not there: {test}"
            );
        }
        claims += 1;
    }
    assert!(claims > 8, "only {claims} claims");
}
