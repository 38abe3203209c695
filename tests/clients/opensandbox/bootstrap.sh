#!/bin/sh
# Stands for the daemon that OpenSandbox puts into its sandboxes, and for what starts it: only what was asked for is started.
exec "$@"
