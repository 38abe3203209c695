//! What a task's commit says.

/// What a message can speak of.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub task: &'a str,
    pub id: &'a str,
    pub agent: &'a str,
    pub branch: &'a str,
}

/// The longest first line that git's tools show whole.
const TITLE: usize = 72;

/// The message of a commit: as its rules have it, or the title, the task, and whose work it was.
pub fn message(rule: Option<&str>, subject: Subject<'_>) -> String {
    let text = match rule {
        Some(rule) => filled(rule, subject),
        None => usual(subject),
    };
    let kept = text.replace(['\r', '\0'], "");
    format!("{}\n", kept.trim())
}

fn usual(subject: Subject<'_>) -> String {
    let (title, task) = (title(subject.task), subject.task.trim());
    let body = if title == task { String::new() } else { format!("{task}\n\n") };
    format!("{title}\n\n{body}Agent: {}\nTask: {}", subject.agent, subject.id)
}

/// Each placeholder once, from left to right: what a task says is never read for placeholders.
fn filled(rule: &str, subject: Subject<'_>) -> String {
    let mut text = String::new();
    let mut rest = rule;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = [
            ("{task}", subject.task.to_owned()),
            ("{title}", title(subject.task)),
            ("{id}", subject.id.to_owned()),
            ("{agent}", subject.agent.to_owned()),
            ("{branch}", subject.branch.to_owned()),
        ];
        if let Some((name, value)) = known.iter().find(|(name, _)| rest.starts_with(name)) {
            text.push_str(value);
            rest = &rest[name.len()..];
        } else {
            text.push('{');
            rest = &rest[1..];
        }
    }
    text + rest
}

/// The first line, cut where it is too long.
fn title(task: &str) -> String {
    let line = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("Change by an agent");
    if line.chars().count() <= TITLE {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE - 1).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject<'static> = Subject {
        task: "Fix the README\n\nIt says {id}.",
        id: "t-1",
        agent: "claude-code",
        branch: "agent/x",
    };

    #[test]
    fn a_commit_says_what_was_asked_for_and_who_did_it() {
        let usual = "Fix the README\n\nFix the README\n\nIt says {id}.\n\nAgent: claude-code\nTask: t-1\n";
        assert_eq!(message(None, SUBJECT), usual);
        let short = Subject { task: "Fix it", ..SUBJECT };
        assert_eq!(message(None, short), "Fix it\n\nAgent: claude-code\nTask: t-1\n");
    }

    #[test]
    fn a_rule_is_filled_in_once() {
        assert_eq!(message(Some("{title} [{branch}] {x}{"), SUBJECT), "Fix the README [agent/x] {x}{\n");
        assert_eq!(
            message(Some("{task}"), SUBJECT),
            "Fix the README\n\nIt says {id}.\n",
            "a task has no placeholders"
        );
    }

    #[test]
    fn titles_are_short() {
        let long = Subject { task: &"word ".repeat(40), ..SUBJECT };
        let message = message(None, long);
        assert!(
            message.lines().next().is_some_and(|line| line.chars().count() <= TITLE && line.ends_with('…'))
        );
    }
}
