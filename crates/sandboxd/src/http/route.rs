//! What a path means. Every port serves all of it. Paths of files stay as they were sent, because how often they are decoded is
//! not the same in all contracts.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// `GET /` of the legacy runtime.
    Home,
    Execute,
    Upload,
    Download(&'a str),
    List(&'a str),
    Exists(&'a str),
    Health,
    Metadata,
    Files(&'a str),
    Directories(&'a str),
    Archive(&'a str),
    Move,
    Copy,
    Watch(&'a str),
    Processes,
    Process(u32),
    ProcessPart(u32, Part),
    /// Nothing that we know, below `/v1`.
    Nothing,
    /// And anywhere else.
    Elsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Signal,
    Resize,
    Stdin,
    Wait,
    Output,
    Attach,
}

/// A prefix, and what is behind it.
type Kind<'a> = (&'static str, fn(&'a str) -> Route<'a>);

impl<'a> Route<'a> {
    pub(crate) fn of(path: &'a str) -> Self {
        match path {
            "/" | "" => Self::Home,
            "/execute" => Self::Execute,
            "/upload" => Self::Upload,
            "/v1/health" => Self::Health,
            "/v1/metadata" => Self::Metadata,
            "/v1/move" => Self::Move,
            "/v1/copy" => Self::Copy,
            "/v1/processes" | "/v1/processes/" => Self::Processes,
            path => Self::below(path),
        }
    }

    fn below(path: &'a str) -> Self {
        let kinds: [Kind<'a>; 7] = [
            ("/download", Self::Download),
            ("/list", Self::List),
            ("/exists", Self::Exists),
            ("/v1/files", Self::Files),
            ("/v1/directories", Self::Directories),
            ("/v1/archive", Self::Archive),
            ("/v1/watch", Self::Watch),
        ];
        let found = kinds.iter().find_map(|(prefix, route)| {
            let rest = path.strip_prefix(prefix)?;
            // `/list` alone is the root, and `/listing` is something else.
            (rest.is_empty()).then_some("").or_else(|| rest.strip_prefix('/')).map(route)
        });
        let nothing = if path.starts_with("/v1/") { Self::Nothing } else { Self::Elsewhere };
        found.or_else(|| process(path)).unwrap_or(nothing)
    }

    /// Whether it is answered to whoever asks: probes have no tokens.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Home | Self::Health)
    }

    /// Refusals below `/v1` have another form than those of the legacy runtime.
    pub(crate) fn is_legacy(&self) -> bool {
        matches!(
            self,
            Self::Home
                | Self::Execute
                | Self::Upload
                | Self::Download(_)
                | Self::List(_)
                | Self::Exists(_)
                | Self::Elsewhere
        )
    }
}

fn process(path: &str) -> Option<Route<'_>> {
    let rest = path.strip_prefix("/v1/processes/")?;
    let (id, part) = rest.split_once('/').map_or((rest, None), |(id, part)| (id, Some(part)));
    let id = id.parse().ok()?;
    Some(match part {
        None => Route::Process(id),
        Some("signal") => Route::ProcessPart(id, Part::Signal),
        Some("resize") => Route::ProcessPart(id, Part::Resize),
        Some("stdin") => Route::ProcessPart(id, Part::Stdin),
        Some("wait") => Route::ProcessPart(id, Part::Wait),
        Some("output") => Route::ProcessPart(id, Part::Output),
        Some("attach") => Route::ProcessPart(id, Part::Attach),
        Some(_) => Route::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_of_the_root_is_answered_directly() {
        assert_eq!(Route::of("/list"), Route::List(""));
        assert_eq!(Route::of("/list/"), Route::List(""));
        assert_eq!(Route::of("/list/."), Route::List("."));
        assert_eq!(Route::of("/v1/files"), Route::Files(""));
        assert_eq!(Route::of("/v1/files/%2E"), Route::Files("%2E"));
    }

    #[test]
    fn paths_stay_as_they_were_sent() {
        assert_eq!(Route::of("/download/a%2Fb%20c"), Route::Download("a%2Fb%20c"));
        assert_eq!(Route::of("/v1/files//abs/x"), Route::Files("/abs/x"));
    }

    #[test]
    fn processes_are_known_by_number() {
        assert_eq!(Route::of("/v1/processes/7"), Route::Process(7));
        assert_eq!(Route::of("/v1/processes/7/output"), Route::ProcessPart(7, Part::Output));
        for path in ["/v1/processes/x", "/v1/processes/7/what", "/v1/processes/7/output/x"] {
            assert_eq!(Route::of(path), Route::Nothing, "{path}");
        }
        assert_eq!([Route::of("/listing"), Route::of("/agent")], [Route::Elsewhere, Route::Elsewhere]);
    }

    #[test]
    fn only_probes_are_open() {
        let open = ["/", "/v1/health", "/execute", "/v1/files/x", "/v1/processes"]
            .map(|path| Route::of(path).is_open());
        assert_eq!(open, [true, true, false, false, false]);
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(path in "(/v1/processes)?/.*") {
            let _ = Route::of(&path);
        }
    }
}
