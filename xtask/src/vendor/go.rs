//! Reads the type declarations of Go source text: structs with their tags, and names given to other types.
//! Everything else in a file is stepped over. This is a reader of well-formed text that a Go compiler has seen, not a compiler.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// What a file declares.
#[derive(Debug, Default)]
pub(super) struct File {
    /// Import paths by the name that the file uses for them.
    pub imports: BTreeMap<String, String>,
    pub declarations: BTreeMap<String, Declaration>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Declaration {
    pub shape: Shape,
    /// The text of the comment above it, which code generators read markers from.
    pub comment: String,
}

#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    Struct(Vec<Field>),
    Named(Type),
    /// Interfaces, functions and the like, which no object holds.
    Other,
}

#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub name: String,
    pub embedded: bool,
    pub kind: Type,
    pub tag: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// A name, with the package that the file knows it under, if it is from another.
    Name(Option<String>, String),
    Pointer(Box<Type>),
    Slice(Box<Type>),
    Map(Box<Type>, Box<Type>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Comment(String),
    Mark(char),
    Line,
}

pub(super) fn parse(source: &str) -> Result<File> {
    let tokens = tokens(source);
    let mut reader = Reader { tokens: &tokens, at: 0 };
    let mut file = File::default();
    let mut comment = String::new();
    while let Some(token) = reader.next() {
        match token {
            Token::Comment(text) => {
                comment.push_str(text);
                comment.push('\n');
                continue;
            }
            Token::Line => continue,
            Token::Word(word) if word == "import" => reader.imports(&mut file.imports),
            Token::Word(word) if word == "type" => reader.types(&comment, &mut file.declarations)?,
            Token::Mark(open @ ('{' | '(' | '[')) => reader.skip(*open),
            _ => {}
        }
        comment.clear();
    }
    Ok(file)
}

fn tokens(source: &str) -> Vec<Token> {
    let mut rest = source;
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (token, length) = token(first, rest);
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

/// The next token, if these characters are one, and how many bytes it takes.
fn token(first: char, rest: &str) -> (Option<Token>, usize) {
    let until = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |found| from + found);
    match first {
        '\n' => (Some(Token::Line), 1),
        '/' if rest.starts_with("//") => {
            let end = until("\n", 2);
            (Some(Token::Comment(rest[2..end].trim().to_owned())), end)
        }
        '/' if rest.starts_with("/*") => (None, (until("*/", 2) + 2).min(rest.len())),
        '`' => {
            let end = until("`", 1);
            (Some(Token::Text(rest[1..end].to_owned())), (end + 1).min(rest.len()))
        }
        '"' | '\'' => quoted(first, rest),
        first if first.is_alphanumeric() || first == '_' => {
            let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
            (Some(Token::Word(rest[..end].to_owned())), end)
        }
        first if first.is_whitespace() => (None, first.len_utf8()),
        first => (Some(Token::Mark(first)), first.len_utf8()),
    }
}

fn quoted(quote: char, rest: &str) -> (Option<Token>, usize) {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, next)| {
        let ends = !escaped && *next == quote;
        escaped = !escaped && *next == '\\';
        ends
    });
    let end = end.map_or(rest.len() - 1, |(at, _)| at);
    (Some(Token::Text(rest[1..end].to_owned())), end + 1)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn eat(&mut self, token: &Token) -> bool {
        let eaten = self.peek() == Some(token);
        self.at += usize::from(eaten);
        eaten
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.eat(&Token::Mark(mark)) { Ok(()) } else { bail!("expected {mark}, found {:?}", self.peek()) }
    }

    fn word(&mut self) -> Result<String> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word.clone()),
            other => bail!("expected a name, found {other:?}"),
        }
    }

    /// Steps over a bracket that is open, and all inside.
    fn skip(&mut self, open: char) {
        let close = match open {
            '{' => '}',
            '(' => ')',
            _ => ']',
        };
        while let Some(token) = self.next() {
            match token {
                Token::Mark(mark) if *mark == close => return,
                Token::Mark(inner @ ('{' | '(' | '[')) => self.skip(*inner),
                _ => {}
            }
        }
    }

    fn imports(&mut self, imports: &mut BTreeMap<String, String>) {
        let several = self.eat(&Token::Mark('('));
        let mut alias = None;
        while let Some(token) = self.next() {
            match token {
                Token::Word(word) => alias = Some(word.clone()),
                Token::Text(path) => {
                    let last = path.rsplit('/').next().unwrap_or_default().to_owned();
                    imports.insert(alias.take().unwrap_or(last), path.clone());
                    if !several {
                        return;
                    }
                }
                Token::Mark(')') => return,
                _ => {}
            }
        }
    }

    fn types(&mut self, comment: &str, declarations: &mut BTreeMap<String, Declaration>) -> Result<()> {
        if !self.eat(&Token::Mark('(')) {
            return self.declaration(comment, declarations);
        }
        let mut own = String::new();
        while !self.eat(&Token::Mark(')')) {
            match self.peek().context("a group of types has no end")? {
                Token::Comment(text) => {
                    own.push_str(text);
                    self.at += 1;
                }
                Token::Line => self.at += 1,
                _ => self.declaration(&std::mem::take(&mut own), declarations)?,
            }
        }
        Ok(())
    }

    fn declaration(&mut self, comment: &str, into: &mut BTreeMap<String, Declaration>) -> Result<()> {
        let name = self.word()?;
        self.eat(&Token::Mark('='));
        let shape = self.shape().with_context(|| format!("reading the type {name}"))?;
        into.insert(name, Declaration { shape, comment: comment.to_owned() });
        Ok(())
    }

    fn shape(&mut self) -> Result<Shape> {
        let other = |word: &str| matches!(word, "interface" | "func" | "chan");
        match self.peek() {
            Some(Token::Word(word)) if word == "struct" => {
                self.at += 1;
                self.expect('{')?;
                self.fields().map(Shape::Struct)
            }
            Some(Token::Word(word)) if other(word) => {
                while !matches!(self.peek(), None | Some(Token::Line)) {
                    if let Some(Token::Mark(open @ ('{' | '('))) = self.next() {
                        self.skip(*open);
                    }
                }
                Ok(Shape::Other)
            }
            _ => self.kind().map(Shape::Named),
        }
    }

    fn fields(&mut self) -> Result<Vec<Field>> {
        let mut fields = Vec::new();
        while !self.eat(&Token::Mark('}')) {
            match self.peek().context("a struct has no end")? {
                Token::Line | Token::Comment(_) => self.at += 1,
                _ => fields.push(self.field()?),
            }
        }
        Ok(fields)
    }

    fn field(&mut self) -> Result<Field> {
        let start = self.at;
        let first = self.kind()?;
        let alone = matches!(self.peek(), None | Some(Token::Line | Token::Text(_) | Token::Comment(_)));
        let (name, kind) = if alone {
            (embedded_name(&first)?, first)
        } else {
            self.at = start;
            (self.word()?, self.kind()?)
        };
        let tag = match self.peek() {
            Some(Token::Text(text)) => {
                self.at += 1;
                text.clone()
            }
            _ => String::new(),
        };
        Ok(Field { name, embedded: alone, kind, tag })
    }

    fn kind(&mut self) -> Result<Type> {
        if self.eat(&Token::Mark('*')) {
            return Ok(Type::Pointer(Box::new(self.kind()?)));
        }
        if self.eat(&Token::Mark('[')) {
            self.expect(']')?;
            return Ok(Type::Slice(Box::new(self.kind()?)));
        }
        let name = self.word()?;
        if matches!(name.as_str(), "interface" | "struct") && self.eat(&Token::Mark('{')) {
            self.skip('{');
            return Ok(Type::Name(None, name));
        }
        if name == "map" {
            self.expect('[')?;
            let key = self.kind()?;
            self.expect(']')?;
            return Ok(Type::Map(Box::new(key), Box::new(self.kind()?)));
        }
        if self.eat(&Token::Mark('.')) {
            let kind = Type::Name(Some(name), self.word()?);
            if self.eat(&Token::Mark('[')) {
                self.skip('[');
            }
            return Ok(kind);
        }
        Ok(Type::Name(None, name))
    }
}

fn embedded_name(kind: &Type) -> Result<String> {
    match kind {
        Type::Name(_, name) => Ok(name.clone()),
        Type::Pointer(inner) => embedded_name(inner),
        _ => bail!("{kind:?} cannot be embedded"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
package v1 // a comment with { and "

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const Brace = "}" + `{`

func ignored(a map[string]int) { type inner struct{} }

// A pod.
// +marker=true
type Pod struct {
	metav1.TypeMeta `json:",inline"`
	// Text about it.
	Limits map[Name]resource.Quantity `json:"limits,omitempty" protobuf:"bytes,1,rep,name=limits"` // trailing
	Items  []*Pod
}

type Name string
"#;

    #[test]
    fn structs_are_read_with_their_tags_and_embedded_types() {
        let file = parse(SOURCE).unwrap();
        assert_eq!(file.imports["metav1"], "k8s.io/apimachinery/pkg/apis/meta/v1");
        let Declaration { shape: Shape::Struct(fields), comment } = &file.declarations["Pod"] else {
            panic!("a struct was read as {:?}", file.declarations["Pod"]);
        };
        assert_eq!(comment, "A pod.\n+marker=true\n");
        let names: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.embedded)).collect();
        assert_eq!(names, [("TypeMeta", true), ("Limits", false), ("Items", false)]);
        assert!(fields[1].tag.starts_with(r#"json:"limits"#));
    }

    #[test]
    fn only_what_a_file_declares_itself_is_taken() {
        let file = parse(SOURCE).unwrap();
        assert_eq!(file.declarations.keys().collect::<Vec<_>>(), ["Name", "Pod"]);
        assert_eq!(file.declarations["Name"].shape, Shape::Named(Type::Name(None, "string".into())));
    }
}
