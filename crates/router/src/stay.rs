//! All that a request holds while it is carried, to its answer's last byte. Given back however it ends.

use crate::conversation::Busy;
use crate::limits::Held;
use crate::metrics::UnderWay;

pub(crate) struct Stay {
    pub(crate) _held: Held,
    pub(crate) _under_way: UnderWay,
    pub(crate) _busy: Busy,
}
