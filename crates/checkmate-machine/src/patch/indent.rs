//! Indentation that differs between a patch and its file in one and the same way.

use std::collections::BTreeSet;

/// Indentations as the patch has them and as the file has them, of lines that stand for each other.
pub(super) type Indents = BTreeSet<(String, String)>;

/// A way in which every indentation of a patch differs from that of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shift {
    /// None at all.
    Same,
    /// The file has this before it.
    Deeper(String),
    /// The patch has this before it.
    Shallower(String),
    /// The file has a tab where the patch has so many spaces.
    SpacesToTabs(usize),
    /// The file has so many spaces where the patch has a tab.
    TabsToSpaces(usize),
}

/// The widths of a tab that anybody uses.
const TAB_WIDTHS: std::ops::RangeInclusive<usize> = 1..=8;

impl Shift {
    /// Returns the indentation that the file has for one of the patch; `None` if the shift says nothing about it.
    pub(super) fn apply(&self, indent: &str) -> Option<String> {
        match self {
            Shift::Same => Some(indent.to_owned()),
            Shift::Deeper(more) => Some(format!("{more}{indent}")),
            Shift::Shallower(less) => indent.strip_prefix(less.as_str()).map(str::to_owned),
            Shift::SpacesToTabs(width) if indent.bytes().all(|byte| byte == b' ') => {
                Some("\t".repeat(indent.len() / width) + &" ".repeat(indent.len() % width))
            }
            Shift::SpacesToTabs(_) => Some(indent.to_owned()),
            Shift::TabsToSpaces(width) => Some(indent.replace('\t', &" ".repeat(*width))),
        }
    }

    fn fits(&self, indents: &Indents) -> bool {
        indents.iter().all(|(patch, file)| self.apply(patch).as_ref() == Some(file))
    }
}

/// Returns every shift that explains all differences; an equal indentation everywhere is explained by `Same` first.
pub(super) fn shifts(indents: &Indents) -> Vec<Shift> {
    let mut shifts = vec![Shift::Same];
    if let Some((patch, file)) = indents.iter().find(|(patch, file)| patch != file) {
        shifts.extend(file.strip_suffix(patch.as_str()).map(|more| Shift::Deeper(more.to_owned())));
        shifts.extend(patch.strip_suffix(file.as_str()).map(|less| Shift::Shallower(less.to_owned())));
        shifts.extend(TAB_WIDTHS.map(Shift::SpacesToTabs));
        shifts.extend(TAB_WIDTHS.map(Shift::TabsToSpaces));
    }
    shifts.retain(|shift| shift.fits(indents));
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifts_of(pairs: &[(&str, &str)]) -> Vec<Shift> {
        shifts(&pairs.iter().map(|(patch, file)| ((*patch).to_owned(), (*file).to_owned())).collect())
    }

    #[test]
    fn one_shift_explains_every_line_or_none_does() {
        assert_eq!(shifts_of(&[("", ""), ("  ", "  ")]), [Shift::Same]);
        assert_eq!(shifts_of(&[("", "    "), ("  ", "      ")]), [Shift::Deeper("    ".to_owned())]);
        assert_eq!(shifts_of(&[("    ", ""), ("        ", "    ")]), [Shift::Shallower("    ".to_owned())]);
        assert_eq!(shifts_of(&[("", ""), ("    ", "\t"), ("      ", "\t  ")]), [Shift::SpacesToTabs(4)]);
        assert_eq!(shifts_of(&[("\t\t", "    ")]), [Shift::TabsToSpaces(2)]);
        assert_eq!(shifts_of(&[("", ""), ("    ", "  ")]), []);
        assert_eq!(shifts_of(&[("    ", "\t"), ("        ", "        ")]), []);
    }
}
