//! Decisions taken from the fuzzer's bytes.

use arbitrary::Unstructured;

/// Takes one decision after the other; when the bytes are used up, every answer is the first one.
pub struct Choose<'a>(pub Unstructured<'a>);

impl Choose<'_> {
    /// Returns a number from 0 to `most`, both included.
    pub fn up_to(&mut self, most: usize) -> usize {
        self.0.int_in_range(0..=most).unwrap_or_default()
    }

    /// Says yes in about `yes` of 16 cases; no when the bytes are used up.
    pub fn chance(&mut self, yes: usize) -> bool {
        16 - self.up_to(15) <= yes
    }

    /// Returns one of several.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.up_to(of.len() - 1)]
    }

    /// Returns a short text of any characters.
    pub fn text(&mut self) -> String {
        let text: &str = self.0.arbitrary().unwrap_or_default();
        text.chars().take(80).collect()
    }
}
