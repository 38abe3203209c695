//! Server-side apply: who owns which fields of an object, and what becomes of them when somebody applies.
