//! A Rust file as a flat list of tokens, so that rules see code and never comments or strings.
//! Knows which tokens belong to tests; leaves what may stand where to the rules.

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

use super::tree::Text;

pub(crate) struct Rust<'a> {
    pub path: &'a str,
    pub tokens: Vec<Token>,
}

pub(crate) struct Token {
    pub text: String,
    /// From 1.
    pub line: usize,
    /// Whether it is compiled for tests only.
    pub test: bool,
}

impl<'a> Rust<'a> {
    pub(crate) fn parse(file: &'a Text) -> Result<Self, LexError> {
        let mut tokens = Vec::new();
        flatten(file.text.parse()?, is_test_file(&file.path), &mut tokens);
        Ok(Self { path: &file.path, tokens })
    }

    /// Where the given tokens stand one after the other: the first of each such row.
    pub(crate) fn rows<'s>(&'s self, wanted: &'s [&str]) -> impl Iterator<Item = &'s Token> {
        self.positions(wanted).map(|at| &self.tokens[at])
    }

    pub(crate) fn positions<'s>(&'s self, wanted: &'s [&str]) -> impl Iterator<Item = usize> {
        let same = move |row: &[Token]| row.iter().zip(wanted).all(|(token, text)| token.text == **text);
        let rows = self.tokens.windows(wanted.len()).enumerate();
        rows.filter(move |(_, row)| same(row)).map(|(at, _)| at)
    }
}

/// Cargo's `tests` folders, the `tests` crate, and `tests.rs` beside the module it tests.
fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn flatten(stream: TokenStream, test: bool, tokens: &mut Vec<Token>) {
    // A test attribute reaches to the end of its item: the next block or semicolon beside it.
    let mut in_test_item = false;
    for tree in stream {
        let test = test || in_test_item;
        if let TokenTree::Group(group) = tree {
            in_test_item |= follows_hash(tokens) && is_test_attribute(&group);
            in_test_item &= group.delimiter() != Delimiter::Brace;
            flatten_group(&group, test, tokens);
        } else {
            let leaf = Token { text: tree.to_string(), line: tree.span().start().line, test };
            in_test_item &= leaf.text != ";";
            tokens.push(leaf);
        }
    }
}

fn follows_hash(tokens: &[Token]) -> bool {
    tokens.last().is_some_and(|token| token.text == "#")
}

fn flatten_group(group: &Group, test: bool, tokens: &mut Vec<Token>) {
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    };
    let mark = |text: &str, line| Token { text: text.to_owned(), line, test };
    tokens.push(mark(open, group.span_open().start().line));
    flatten(group.stream(), test, tokens);
    tokens.push(mark(close, group.span_close().start().line));
}

/// `[cfg(test)]`, `[test]`, `[tokio::test(…)]`: what follows is compiled for tests only.
fn is_test_attribute(group: &Group) -> bool {
    let words = words(group.stream());
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    group.delimiter() == Delimiter::Bracket
        && match words[..] {
            ["cfg", ref conditions @ ..] => conditions.contains(&"test") && !conditions.contains(&"not"),
            ["test", ..] | [_, "test", ..] => true,
            _ => false,
        }
}

fn words(stream: TokenStream) -> Vec<String> {
    let word = |tree| match tree {
        TokenTree::Ident(ident) => vec![ident.to_string()],
        TokenTree::Group(group) => words(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => Vec::new(),
    };
    stream.into_iter().flat_map(word).collect()
}

/// Parses a text as the file of that path and hands it to a rule.
#[cfg(test)]
pub(crate) fn with<T>(path: &str, text: &str, rule: impl FnOnce(&Rust) -> T) -> T {
    rule(&Rust::parse(&Text { path: path.to_owned(), text: text.to_owned() }).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_words(path: &str, text: &str) -> Vec<String> {
        let names = ["a", "b", "c"];
        let in_test = |token: &&Token| token.test && names.contains(&token.text.as_str());
        with(path, text, |rust| rust.tokens.iter().filter(in_test).map(|token| token.text.clone()).collect())
    }

    #[test]
    fn comments_and_strings_hold_no_tokens() {
        let text = "// unsafe\n/* unsafe */ const A: &str = \"unsafe\";\n/// unsafe\nfn f() {}";
        assert_eq!(with("a.rs", text, |rust| rust.rows(&["unsafe"]).count()), 0);
    }

    #[test]
    fn rows_are_found_across_lines_with_the_line_of_their_start() {
        let text = "fn f() {\n    thread::\n    sleep(x) }";
        let lines = with("a.rs", text, |rust| {
            rust.rows(&["thread", ":", ":", "sleep"]).map(|token| token.line).collect::<Vec<_>>()
        });
        assert_eq!(lines, [2]);
    }

    #[test]
    fn a_test_attribute_reaches_to_the_end_of_its_item() {
        assert_eq!(test_words("x.rs", "fn a() {} #[cfg(test)] mod t { fn b() {} } fn c() {}"), ["b"]);
        assert_eq!(test_words("x.rs", "#[cfg(test)] use a; fn b() {}"), ["a"]);
        assert_eq!(test_words("x.rs", "#[tokio::test] async fn a() { b() } fn c() {}"), ["a", "b"]);
        assert_eq!(test_words("x.rs", "#[cfg(not(test))] fn a() {}"), [""; 0]);
        assert_eq!(test_words("x.rs", "fn f() { let list = [x, test] + a; }"), [""; 0]);
    }

    #[test]
    fn files_of_tests_are_tests_throughout() {
        assert_eq!(test_words("tests/src/lib.rs", "fn a() {}"), ["a"]);
        assert_eq!(test_words("crates/core/src/plan/tests.rs", "fn a() {}"), ["a"]);
        assert_eq!(test_words("crates/core/src/testsuite.rs", "fn a() {}"), [""; 0]);
    }
}
