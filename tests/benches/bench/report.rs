//! What came out: a table, JSON and a picture.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

/// Everything measured so far.
pub struct Report {
    lines: Vec<Line>,
    details: Vec<Value>,
}

/// One line of the table.
struct Line {
    what: String,
    against: String,
    value: f64,
    unit: &'static str,
    /// What it is to be at most; at least, where more is better.
    aim: f64,
    more_is_better: bool,
    note: String,
}

impl Line {
    fn is_met(&self) -> bool {
        if self.more_is_better {
            self.value >= self.aim
        } else {
            self.value <= self.aim
        }
    }
}

impl Report {
    pub fn new() -> Self {
        Self {
            lines: Vec::new(),
            details: Vec::new(),
        }
    }

    /// A time, as a multiple of another's.
    pub fn ratio(&mut self, what: &str, against: &str, value: f64, aim: f64) {
        self.line(what, against, value, "×", aim, false);
    }

    /// A rate, as a part of another's.
    pub fn rate(&mut self, what: &str, against: &str, value: f64, aim: f64) {
        self.line(what, against, value, "×", aim, true);
    }

    /// A figure of its own.
    pub fn figure(&mut self, what: &str, value: f64, unit: &'static str, aim: f64) {
        self.line(what, "", value, unit, aim, false);
    }

    fn line(
        &mut self,
        what: &str,
        against: &str,
        value: f64,
        unit: &'static str,
        aim: f64,
        more_is_better: bool,
    ) {
        let line = Line {
            what: what.to_owned(),
            against: against.to_owned(),
            value,
            unit,
            aim,
            more_is_better,
            note: String::new(),
        };
        println!("{}", text(&line));
        self.lines.push(line);
    }

    /// Says more of the last line.
    pub fn note(&mut self, note: &str) {
        println!("    {note}");
        if let Some(line) = self.lines.last_mut() {
            let separator = if line.note.is_empty() { "" } else { "; " };
            let _ = write!(line.note, "{separator}{note}");
        }
    }

    /// One measurement behind a line, for the JSON.
    pub fn detail(&mut self, section: &str, what: &str, candidate: &str, value: f64, unit: &str) {
        println!("    {section}: {what}, {candidate}: {value:.3} {unit}");
        self.details.push(json!({ "section": section, "what": what, "candidate": candidate, "value": value, "unit": unit }));
    }

    /// Writes `results.json` and `results.svg` into `target/bench`.
    pub fn write(&self) {
        let program = std::env::current_exe().expect("the benchmark's own path");
        // target/release/deps/bench-0123
        let target = program.ancestors().nth(3).expect("the target directory");
        let folder = target.join("bench");
        fs::create_dir_all(&folder).expect("a folder");
        let lines = self.lines.iter().map(|line| {
            json!({
                "what": line.what, "against": line.against, "value": line.value, "unit": line.unit,
                "aim": line.aim, "more_is_better": line.more_is_better, "met": line.is_met(), "note": line.note,
            })
        });
        let all = json!({
            "sqlite": rusqlite::version(), "processors": std::thread::available_parallelism().map_or(0, usize::from),
            "results": lines.collect::<Value>(), "measurements": self.details,
        });
        let save = |name: &str, text: &str| {
            let path: PathBuf = folder.join(name);
            fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            println!("{}", path.display());
        };
        println!();
        for line in &self.lines {
            println!("{}", text(line));
        }
        save("results.json", &format!("{all:#}\n"));
        save("results.svg", &picture(&self.lines));
    }
}

fn text(line: &Line) -> String {
    let mark = if line.is_met() { ' ' } else { '!' };
    let sign = if line.more_is_better { '≥' } else { '≤' };
    let Line {
        what,
        against,
        value,
        unit,
        aim,
        note,
        ..
    } = line;
    format!("{mark} {what:54} {value:8.2} {unit:3} {against:24} ({sign} {aim}) {note}")
}

/// A bar for each line, as long as the value is beside its aim.
fn picture(lines: &[Line]) -> String {
    const ROW: usize = 26;
    const LEFT: f64 = 400.0;
    /// As wide as the aim is drawn.
    const AIM: f64 = 200.0;
    let height = lines.len() * ROW + 50;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"1000\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"10\" y=\"20\" font-weight=\"bold\">sqlarium beside native SQLite and other servers; the line is the aim</text>\n"
    );
    for (at, line) in lines.iter().enumerate() {
        let y = 40 + at * ROW;
        let width = (line.value / line.aim * AIM).clamp(1.0, 420.0);
        let colour = if line.is_met() { "#4a8" } else { "#c64" };
        let against = if line.against.is_empty() {
            String::new()
        } else {
            format!(" {}", line.against)
        };
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{base}\" text-anchor=\"end\">{what}</text>\
             <rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"16\" fill=\"{colour}\"/>\
             <text x=\"{end:.1}\" y=\"{base}\">{value:.2} {unit}{against}</text>",
            x = LEFT - 8.0,
            base = y + 13,
            what = escaped(&line.what),
            end = LEFT + width.max(AIM) + 8.0,
            value = line.value,
            unit = line.unit,
            against = escaped(&against),
        );
    }
    let _ = writeln!(
        svg,
        "<line x1=\"{x}\" x2=\"{x}\" y1=\"32\" y2=\"{bottom}\" stroke=\"#333\" stroke-dasharray=\"4 3\"/>\n</svg>",
        x = LEFT + AIM,
        bottom = height - 10,
    );
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// What many ratios are together.
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp()
}

/// The one in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
