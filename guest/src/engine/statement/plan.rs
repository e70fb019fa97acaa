//! The plan of a statement, drawn as a tree as the sqlite3 program does.

use serde_json::{Value as Json, json};

use crate::answer::output::Output;
use crate::answer::value::Value;

/// What a plan is headed by.
pub(crate) const TITLE: &str = "QUERY PLAN";

/// One step of a plan.
struct Step {
    id: i64,
    parent: i64,
    detail: String,
}

/// Turns the rows of an EXPLAIN QUERY PLAN (id, parent, unused, detail) into a text, and keeps them as `plan`.
pub(crate) fn draw(output: &mut Output) {
    let rows = output.rows.take().map(|rows| rows.rows).unwrap_or_default();
    let steps: Vec<Step> = rows
        .into_iter()
        .filter_map(|row| match row.as_slice() {
            [
                Value::Integer(id),
                Value::Integer(parent),
                _,
                Value::Text(detail),
            ] => Some(Step {
                id: *id,
                parent: *parent,
                detail: detail.clone(),
            }),
            _ => None,
        })
        .collect();
    output.text = Some(if steps.is_empty() {
        format!("{TITLE}\n(no steps: the statement reads no table)")
    } else {
        tree(&steps)
    });
    let listed = steps
        .iter()
        .map(|step| json!({"id": step.id, "parent": step.parent, "detail": step.detail}))
        .collect();
    output.extra.insert("plan".into(), Json::Array(listed));
}

/// What there is to say of a step.
#[derive(Debug)]
pub(crate) struct Remark {
    /// The step, by its number.
    pub step: i64,
    /// For the tree; behind the step and a colon, unless it is empty.
    pub said: String,
    /// For the JSON form.
    pub members: Vec<(&'static str, Json)>,
}

/// Adds to a plan that was drawn what there is to say of its steps.
pub(crate) fn add(output: &mut Output, remarks: &[Remark]) {
    let Some(Json::Array(listed)) = output.extra.get_mut("plan") else {
        return;
    };
    let mut steps = Vec::new();
    for step in listed {
        let number = |name: &str| step[name].as_i64().unwrap_or_default();
        let (id, parent) = (number("id"), number("parent"));
        let mut detail = step["detail"].as_str().unwrap_or_default().to_owned();
        let remark = remarks.iter().find(|remark| remark.step == id);
        if let (Some(remark), Some(step)) = (remark, step.as_object_mut()) {
            if !remark.said.is_empty() {
                detail = format!("{detail}: {}", remark.said);
            }
            let members = remark.members.iter();
            step.extend(members.map(|(name, value)| ((*name).to_owned(), value.clone())));
        }
        steps.push(Step { id, parent, detail });
    }
    if !steps.is_empty() {
        output.text = Some(tree(&steps));
    }
}

fn tree(steps: &[Step]) -> String {
    let mut text = TITLE.to_owned();
    branch(steps, 0, "", &mut text);
    text
}

/// Draws the steps below `parent`. Ids grow along the rows and a step comes after its parent, so this ends.
fn branch(steps: &[Step], parent: i64, indent: &str, text: &mut String) {
    let mut below = steps
        .iter()
        .filter(|step| step.parent == parent && step.id != parent)
        .peekable();
    while let Some(step) = below.next() {
        let last = below.peek().is_none();
        text.push('\n');
        text.push_str(indent);
        text.push_str(if last { "`--" } else { "|--" });
        text.push_str(&step.detail);
        let deeper = format!("{indent}{}", if last { "   " } else { "|  " });
        branch(steps, step.id, &deeper, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::output::Rows;

    fn row(id: i64, parent: i64, detail: &str) -> Vec<Value> {
        vec![
            Value::Integer(id),
            Value::Integer(parent),
            Value::Integer(0),
            Value::Text(detail.into()),
        ]
    }

    #[test]
    fn steps_are_indented_below_their_parents() {
        let rows = vec![
            row(2, 0, "a"),
            row(3, 2, "a1"),
            row(5, 2, "a2"),
            row(9, 0, "b"),
        ];
        let mut output = Output {
            rows: Some(Rows {
                rows,
                ..Rows::default()
            }),
            ..Output::default()
        };
        draw(&mut output);
        assert_eq!(
            output.text.unwrap(),
            "QUERY PLAN\n|--a\n|  |--a1\n|  `--a2\n`--b"
        );
        assert_eq!(output.extra["plan"].as_array().unwrap().len(), 4);
        assert!(output.rows.is_none());
    }
}
