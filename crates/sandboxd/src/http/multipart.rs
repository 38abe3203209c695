//! Reads `multipart/form-data` as it arrives, in pieces of any size, and holds no more than a boundary of it back. What is done
//! with a part is the business of the caller.

/// The head of a part: at most so many bytes.
const LARGEST_HEAD: usize = 16 * 1024;
/// What RFC 2046 allows for a boundary.
const LONGEST_BOUNDARY: usize = 70;

/// What a body says next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A part begins.
    Part(Head),
    /// Bytes of the part that began last.
    Data(Vec<u8>),
    /// That part is whole.
    PartEnd,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) filename: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the body is not multipart/form-data with a boundary")]
    NoBoundary,
    #[error("the head of a part of the body is larger than {LARGEST_HEAD} bytes")]
    LargeHead,
    #[error("a part of the body has no form-data name")]
    NoName,
    #[error("a boundary of the body is followed by something else than a line break")]
    BadBoundary,
    #[error("the body ends within a part")]
    Truncated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first boundary.
    Preamble,
    /// Behind a boundary: a line break follows, or the two dashes that end it all.
    Boundary,
    Head,
    Data,
    /// Behind the last boundary.
    Epilogue,
}

pub(crate) struct Reader {
    /// With the line break and the dashes in front.
    boundary: Vec<u8>,
    held: Vec<u8>,
    place: Place,
}

impl Reader {
    pub(crate) fn new(content_type: &str) -> Result<Self, Broken> {
        let boundary = boundary(content_type).ok_or(Broken::NoBoundary)?;
        // A first boundary without a line break before it is then like any other.
        let held = b"\r\n".to_vec();
        Ok(Self { boundary: format!("\r\n--{boundary}").into_bytes(), held, place: Place::Preamble })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Broken> {
        self.held.extend_from_slice(bytes);
        let mut events = Vec::new();
        while self.step(&mut events)? {}
        Ok(events)
    }

    /// To be called when the body has ended.
    pub(crate) fn finish(self) -> Result<(), Broken> {
        if self.place == Place::Epilogue { Ok(()) } else { Err(Broken::Truncated) }
    }

    /// Whether there may be more in what is held.
    fn step(&mut self, events: &mut Vec<Event>) -> Result<bool, Broken> {
        match self.place {
            Place::Preamble => Ok(self.skip_preamble()),
            Place::Boundary => self.leave_boundary(),
            Place::Head => self.read_head(events),
            Place::Data => Ok(self.read_data(events)),
            Place::Epilogue => {
                self.held.clear();
                Ok(false)
            }
        }
    }

    fn skip_preamble(&mut self) -> bool {
        let found = find(&self.held, &self.boundary);
        let gone = found.map_or_else(|| self.sure(), |at| at + self.boundary.len());
        self.held.drain(..gone);
        if found.is_some() {
            self.place = Place::Boundary;
        }
        found.is_some()
    }

    fn leave_boundary(&mut self) -> Result<bool, Broken> {
        // Spaces may stand before the line break.
        let padding = self.held.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if padding > LARGEST_HEAD {
            return Err(Broken::BadBoundary);
        }
        match self.held.get(padding..padding + 2) {
            None => return Ok(false),
            Some(b"\r\n") => self.place = Place::Head,
            Some(b"--") if padding == 0 => self.place = Place::Epilogue,
            Some(_) => return Err(Broken::BadBoundary),
        }
        // The line break stays for a head, so that one without fields ends like any other.
        self.held.drain(..padding);
        Ok(true)
    }

    fn read_head(&mut self, events: &mut Vec<Event>) -> Result<bool, Broken> {
        let Some(end) = find(&self.held, b"\r\n\r\n") else {
            return if self.held.len() > LARGEST_HEAD { Err(Broken::LargeHead) } else { Ok(false) };
        };
        if end > LARGEST_HEAD {
            return Err(Broken::LargeHead);
        }
        let head = String::from_utf8_lossy(&self.held[..end]).into_owned();
        events.push(Event::Part(disposition(&head).ok_or(Broken::NoName)?));
        self.held.drain(..end + 4);
        self.place = Place::Data;
        Ok(true)
    }

    fn read_data(&mut self, events: &mut Vec<Event>) -> bool {
        let found = find(&self.held, &self.boundary);
        let data: Vec<u8> = self.held.drain(..found.unwrap_or_else(|| self.sure())).collect();
        if !data.is_empty() {
            events.push(Event::Data(data));
        }
        if found.is_some() {
            self.held.drain(..self.boundary.len());
            self.place = Place::Boundary;
            events.push(Event::PartEnd);
        }
        found.is_some()
    }

    /// How much of what is held is certainly before a boundary: all but what may be the beginning of one.
    fn sure(&self) -> usize {
        self.held.len().saturating_sub(self.boundary.len() - 1)
    }
}

fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|window| window == needle)
}

fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';')?;
    let is_form = kind.trim().eq_ignore_ascii_case("multipart/form-data");
    let boundary = parameter(parameters, "boundary").filter(|_| is_form)?;
    (!boundary.is_empty() && boundary.len() <= LONGEST_BOUNDARY).then_some(boundary)
}

fn disposition(head: &str) -> Option<Head> {
    let is_disposition = |line: &&str| line.to_ascii_lowercase().starts_with("content-disposition:");
    let line = head.split("\r\n").find(is_disposition)?;
    let parameters = line.split_once(';')?.1;
    let filename = parameter(parameters, "filename").map(|name| name.replace("%22", "\""));
    Some(Head { name: parameter(parameters, "name")?, filename })
}

/// The value of `name=value` or `name="value"` in a list that semicolons part.
fn parameter(list: &str, wanted: &str) -> Option<String> {
    let mut rest = list;
    loop {
        let (name, behind) = rest.split_once('=')?;
        let (value, behind) = value(behind.trim_start());
        if name.trim().trim_start_matches(';').trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = behind;
    }
}

/// A value and what stands behind it. Python and browsers write `%22` for a quote and leave backslashes alone, Go escapes both by a
/// backslash: so one counts only before a quote or another of its kind.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (text[..end].trim().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' if matches!(characters.peek(), Some((_, '"' | '\\'))) => {
                value.extend(characters.next().map(|(_, escaped)| escaped));
            }
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=xyz";

    fn read(pieces: &[&[u8]]) -> Result<Vec<Event>, Broken> {
        let mut reader = Reader::new(TYPE)?;
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(reader.push(piece)?);
        }
        reader.finish()?;
        Ok(joined(events))
    }

    /// Data in one piece, however it was cut.
    fn joined(events: Vec<Event>) -> Vec<Event> {
        let mut whole: Vec<Event> = Vec::new();
        for event in events {
            match (whole.last_mut(), event) {
                (Some(Event::Data(before)), Event::Data(more)) => before.extend(more),
                (_, event) => whole.push(event),
            }
        }
        whole
    }

    fn form(filename: &str, data: &[u8]) -> Vec<u8> {
        let head = format!(
            "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{filename}\"\r\n\r\n"
        );
        [head.as_bytes(), data, b"\r\n--xyz--\r\n"].concat()
    }

    fn file(filename: &str, data: &[u8]) -> Vec<Event> {
        let head = Head { name: "file".to_owned(), filename: Some(filename.to_owned()) };
        let data = (!data.is_empty()).then(|| Event::Data(data.to_vec()));
        [Some(Event::Part(head)), data, Some(Event::PartEnd)].into_iter().flatten().collect()
    }

    #[test]
    fn a_file_is_read_with_its_name() {
        assert_eq!(read(&[&form("a/b ü.txt", b"hello")]), Ok(file("a/b ü.txt", b"hello")));
    }

    #[test]
    fn an_empty_file_is_a_file() {
        assert_eq!(read(&[&form("a", b"")]), Ok(file("a", b"")));
    }

    #[test]
    fn quotes_come_as_python_and_as_go_write_them() {
        assert_eq!(read(&[&form("a%22b", b"x")]), Ok(file("a\"b", b"x")));
        assert_eq!(read(&[&form("a\\\"b\\\\c", b"x")]), Ok(file("a\"b\\c", b"x")));
        assert_eq!(read(&[&form("a\\b", b"x")]), Ok(file("a\\b", b"x")));
    }

    #[test]
    fn a_boundary_may_be_quoted_and_have_a_preamble() {
        let mut reader = Reader::new("Multipart/Form-Data; charset=utf-8; boundary=\"a b\"").unwrap();
        let events = reader
            .push(b"ignored\r\n--a b  \r\nContent-Type: x\r\nContent-Disposition: form-data; name=q\r\n\r\n1\r\n--a b--")
            .unwrap();
        let head = Head { name: "q".to_owned(), filename: None };
        assert_eq!(joined(events), [Event::Part(head), Event::Data(b"1".to_vec()), Event::PartEnd]);
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn what_is_cut_off_or_broken_is_refused() {
        let whole = form("a", b"data");
        assert_eq!(read(&[&whole[..whole.len() - 6]]), Err(Broken::Truncated));
        assert_eq!(read(&[b"--xyzz\r\n"]), Err(Broken::BadBoundary));
        assert_eq!(read(&[b"--xyz\r\nContent-Type: x\r\n\r\n"]), Err(Broken::NoName));
        assert_eq!(read(&[b"--xyz\r\n", &vec![b'a'; LARGEST_HEAD + 9]]), Err(Broken::LargeHead));
        for other in ["multipart/form-data", "text/plain; boundary=a", "multipart/form-data; boundary="] {
            assert!(Reader::new(other).is_err(), "{other}");
        }
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_a_body_is_cut(
            data in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), Just(b'x'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0_usize..300, 0..10),
        ) {
            prop_assume!(find(&data, b"\r\n--xyz").is_none());
            let body = form("a", &data);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).chain([0, body.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), Ok(file("a", &data)));
        }

        #[test]
        fn nothing_breaks_it(body in proptest::collection::vec(prop_oneof![Just(b"\r\n--xyz".to_vec()), proptest::collection::vec(any::<u8>(), 0..20)], 0..20)) {
            let pieces: Vec<&[u8]> = body.iter().map(Vec::as_slice).collect();
            let _ = read(&pieces);
        }

        #[test]
        fn little_of_a_body_is_held(
            body in proptest::collection::vec(
                prop_oneof![
                    Just(b"\r\n--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n".to_vec()),
                    (any::<u8>(), 0_usize..5000).prop_map(|(byte, count)| vec![byte; count]),
                ],
                0..20,
            ),
        ) {
            let mut reader = Reader::new(TYPE).unwrap();
            for piece in body.concat().chunks(1000) {
                if reader.push(piece).is_err() {
                    break;
                }
                prop_assert!(reader.held.len() <= LARGEST_HEAD + 1000, "{}", reader.held.len());
            }
        }

        #[test]
        fn no_type_breaks_it(text in ".*") {
            let _ = Reader::new(&text);
        }
    }
}
