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
    Stat(&'a str),
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

/// A line of the table of all that is served.
pub(crate) struct Endpoint<'a> {
    /// `{path}` is all that follows, or nothing; `{id}` is a number.
    pub(crate) pattern: &'static str,
    /// As `Allow` has them.
    pub(crate) methods: &'static str,
    access: Access,
    kind: Kind<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// It is answered to whoever asks: probes have no tokens.
    Open,
    Token,
}

enum Kind<'a> {
    Plain(Route<'a>),
    Path(fn(&'a str) -> Route<'a>),
    Process(fn(u32) -> Route<'a>),
    Part(Part),
}

/// What a path means, and who may do what with it.
pub(crate) struct Found<'a> {
    pub(crate) route: Route<'a>,
    /// None where there is nothing.
    pub(crate) methods: &'static str,
    access: Access,
}

/// Everything that is served over plain HTTP; gRPC is beside it.
pub(crate) fn table<'a>() -> [Endpoint<'a>; 24] {
    use Kind::{Part as Of, Path, Plain, Process};
    let endpoint = |pattern, methods, kind| Endpoint { pattern, methods, access: Access::Token, kind };
    let probe =
        |pattern, route| Endpoint { pattern, methods: "GET, HEAD", access: Access::Open, kind: Plain(route) };
    [
        probe("/", Route::Home),
        probe("/v1/health", Route::Health),
        endpoint("/execute", "POST", Plain(Route::Execute)),
        endpoint("/upload", "POST", Plain(Route::Upload)),
        endpoint("/download/{path}", "GET, HEAD", Path(Route::Download)),
        endpoint("/list/{path}", "GET, HEAD", Path(Route::List)),
        endpoint("/exists/{path}", "GET, HEAD", Path(Route::Exists)),
        endpoint("/v1/metadata", "GET", Plain(Route::Metadata)),
        endpoint("/v1/files/{path}", "GET, HEAD, PUT, DELETE", Path(Route::Files)),
        endpoint("/v1/stat/{path}", "GET, HEAD", Path(Route::Stat)),
        endpoint("/v1/directories/{path}", "POST, PUT", Path(Route::Directories)),
        endpoint("/v1/archive/{path}", "GET, PUT", Path(Route::Archive)),
        endpoint("/v1/watch/{path}", "GET", Path(Route::Watch)),
        endpoint("/v1/move", "POST", Plain(Route::Move)),
        endpoint("/v1/copy", "POST", Plain(Route::Copy)),
        endpoint("/v1/processes", "GET, POST", Plain(Route::Processes)),
        endpoint("/v1/processes/", "GET, POST", Plain(Route::Processes)),
        endpoint("/v1/processes/{id}", "GET, DELETE", Process(Route::Process)),
        endpoint("/v1/processes/{id}/signal", "POST", Of(Part::Signal)),
        endpoint("/v1/processes/{id}/resize", "POST", Of(Part::Resize)),
        endpoint("/v1/processes/{id}/stdin", "POST", Of(Part::Stdin)),
        endpoint("/v1/processes/{id}/wait", "GET", Of(Part::Wait)),
        endpoint("/v1/processes/{id}/output", "GET", Of(Part::Output)),
        endpoint("/v1/processes/{id}/attach", "GET", Of(Part::Attach)),
    ]
}

/// What is meant by a path.
pub(crate) fn find(path: &str) -> Found<'_> {
    let path = if path.is_empty() { "/" } else { path };
    let found = table().into_iter().find_map(|endpoint| {
        let route = endpoint.route(path)?;
        Some(Found { route, methods: endpoint.methods, access: endpoint.access })
    });
    let nothing = if path.starts_with("/v1/") { Route::Nothing } else { Route::Elsewhere };
    found.unwrap_or(Found { route: nothing, methods: "", access: Access::Token })
}

impl<'a> Endpoint<'a> {
    fn route(&self, path: &'a str) -> Option<Route<'a>> {
        match &self.kind {
            Kind::Plain(route) => (path == self.pattern).then(|| route.clone()),
            Kind::Path(route) => self.behind(path).map(route),
            Kind::Process(route) => self.number(path).map(route),
            Kind::Part(part) => self.number(path).map(|id| Route::ProcessPart(id, *part)),
        }
    }

    /// `/list` alone is the root, and `/listing` is something else.
    fn behind(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(self.pattern.strip_suffix("/{path}")?)?;
        if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
    }

    fn number(&self, path: &str) -> Option<u32> {
        let (before, after) = self.pattern.split_once("{id}")?;
        path.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
    }
}

impl Found<'_> {
    pub(crate) fn is_open(&self) -> bool {
        self.access == Access::Open
    }

    /// Where there is nothing, no method is wrong.
    pub(crate) fn allows(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.split(", ").any(|known| known == method)
    }
}

impl Route<'_> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(path: &str) -> Route<'_> {
        find(path).route
    }

    #[test]
    fn every_spelling_of_the_root_is_answered_directly() {
        assert_eq!(of("/list"), Route::List(""));
        assert_eq!(of("/list/"), Route::List(""));
        assert_eq!(of("/list/."), Route::List("."));
        assert_eq!(of("/v1/files"), Route::Files(""));
        assert_eq!(of("/v1/files/%2E"), Route::Files("%2E"));
    }

    #[test]
    fn paths_stay_as_they_were_sent() {
        assert_eq!(of("/download/a%2Fb%20c"), Route::Download("a%2Fb%20c"));
        assert_eq!(of("/v1/files//abs/x"), Route::Files("/abs/x"));
    }

    #[test]
    fn processes_are_known_by_number() {
        assert_eq!(of("/v1/processes/7"), Route::Process(7));
        assert_eq!(of("/v1/processes/7/output"), Route::ProcessPart(7, Part::Output));
        for path in ["/v1/processes/x", "/v1/processes/7/what", "/v1/processes/7/output/x"] {
            assert_eq!(of(path), Route::Nothing, "{path}");
        }
        assert_eq!([of("/listing"), of("/agent")], [Route::Elsewhere, Route::Elsewhere]);
    }

    #[test]
    fn only_probes_are_open() {
        let open = table().into_iter().filter(|endpoint| endpoint.access == Access::Open);
        assert_eq!(open.map(|endpoint| endpoint.pattern).collect::<Vec<_>>(), ["/", "/v1/health"]);
        assert!(find("").is_open() && !find("/v1/healthy").is_open() && !find("/v1/health/").is_open());
    }

    #[test]
    fn every_line_of_the_table_is_found_by_what_it_says() {
        for endpoint in table() {
            let path = endpoint.pattern.replace("{id}", "7").replace("{path}", "a");
            let first = table().into_iter().position(|other| other.route(&path).is_some()).unwrap();
            assert_eq!(table()[first].pattern, endpoint.pattern, "another line is before it");
        }
    }

    #[test]
    fn methods_are_those_of_the_table() {
        assert!(find("/v1/files/x").allows("PUT") && !find("/v1/files/x").allows("POST"));
        assert!(!find("/v1/files/x").allows("PU") && find("/nothing").allows("POST"));
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(path in "(/v1/processes)?/.*") {
            let _ = of(&path);
        }
    }
}
