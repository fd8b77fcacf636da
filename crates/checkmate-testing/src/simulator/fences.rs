//! Reads prompts as a careful agent would: titles are titles only where no fence is open.

/// The titles of a prompt, and what stands outside of every fence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Read {
    /// The titles of its sections, in order.
    pub titles: Vec<String>,
    /// Every line that stands in no fence.
    pub open: Vec<String>,
}

/// Reads the user text of a prompt; an error says which fence is wrong.
///
/// A fence opens with a line `<<<DATA NAME MARK` and closes with the first line `DATA MARK>>>`.
pub fn read(text: &str) -> Result<Read, String> {
    let mut read = Read::default();
    let mut mark: Option<&str> = None;
    // Everything that some reader might take for the end of a line is one here.
    for line in text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        if let Some(open) = mark {
            if line.strip_prefix("DATA ").and_then(|rest| rest.strip_suffix(">>>")) == Some(open) {
                mark = None;
            }
        } else if let Some(head) = line.strip_prefix("<<<DATA ") {
            mark = head.rsplit(' ').next();
        } else if line.starts_with("DATA ") && line.ends_with(">>>") {
            return Err(format!("a fence closes that is not open: {line:?}"));
        } else {
            if let Some(title) = line.strip_prefix("## ") {
                read.titles.push(title.to_owned());
            }
            read.open.push(line.to_owned());
        }
    }
    match mark {
        None => Ok(read),
        Some(mark) => Err(format!("the fence {mark} is not closed")),
    }
}
