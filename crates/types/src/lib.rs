//! The kinds of Agent Sandbox.
