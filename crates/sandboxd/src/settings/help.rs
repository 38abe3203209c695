//! What `sandboxd --help` says.

/// The limits follow, from their table.
pub(crate) const HELP: &str = "\
sandboxd runs inside a sandbox. It starts commands, gives terminals and moves files for whoever may ask,
over HTTP and gRPC, and it can be the init of its container.

  sandboxd serve [FLAGS] [-- COMMAND ARGUMENTS…]
  sandboxd install DIRECTORY      put a copy of this program there, as DIRECTORY/sandboxd
  sandboxd version

With a COMMAND it starts that, passes signals on to it, reaps whatever is left behind, and ends as it ends.
Without one it serves until SIGTERM.

Try it:
  sandboxd serve --listen-host 127.0.0.1 --root-dir /tmp/box &
  curl 127.0.0.1:8888/v1/health
  curl 127.0.0.1:8888/v1/processes -d '{\"shell\": \"echo hello\"}'
  curl 127.0.0.1:8888/v1/processes/1/output?format=raw
  curl -T notes.txt 127.0.0.1:8888/v1/files/notes.txt

Where it listens, and for whom (every port serves everything; 0 closes one):
  --listen-host ADDRESS    [0.0.0.0]; :: listens for IPv6 and IPv4
  --runtime-port PORT      [8888]
  --rest-port PORT         [8080, or 0 with tokens]
  --grpc-port PORT         [9090, or 0 with tokens]
  --access open|token      open: whoever reaches a port may do everything, so keep others away by the network.
                           token: `Authorization: Bearer TOKEN`, or `X-Sandboxd-Token: TOKEN`.
                           [token when one of the next three is given, otherwise open]
  --public-key BASE64      an Ed25519 key whose tokens count; may be given again [SANDBOXD_PUBLIC_KEYS, by spaces]
  --sandbox-uid UID        the sandbox that tokens must name
  --bearer-token-file FILE a token that is not signed but known; the file is read anew when it changes

What it serves:
  --root-dir DIRECTORY     where files are, and where commands begin; made if it is missing
                           [SANDBOX_BASE_DIR, else /app or /workspace if there is one, else the working directory]
  --metadata-env-prefix P  variables that GET /v1/metadata shows [SANDBOX_]
  --signal-exit-codes      gRPC says 128 and the number for a process that a signal ended, not -1

Every flag can be given by the environment: --root-dir is SANDBOXD_ROOT_DIR.

Limits, in bytes, seconds or pieces:
";
