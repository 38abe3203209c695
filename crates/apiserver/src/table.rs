//! Objects as the rows and columns that `kubectl get` prints.
