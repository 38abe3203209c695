//! What happens to processes of the operator from outside: they are cut off from the cluster for a while, or asked to go.
//! That they die in the middle of something is left to [`crate::fate`].

use std::time::Duration;

use crate::agenda::Deed;
use crate::world::World;

/// At most so long after one trouble comes the next.
const PAUSE: u64 = 25_000;

pub(crate) fn begin(world: &mut World) {
    // With the Lease, or a single process without.
    world.processes.are_several = world.chance.one_in(2);
    next(world);
    if world.chance.one_in(3) {
        let pause = world.chance.millis(20_000);
        world.agenda.add(pause, Deed::NodeChanges);
    }
}

fn next(world: &mut World) {
    let pause = world.chance.millis(PAUSE);
    world.agenda.add(pause, Deed::Trouble);
}

pub(crate) fn make(world: &mut World) {
    if !world.is_stormy {
        return;
    }
    let living = world.processes.living();
    if !living.is_empty() {
        let process = world.chance.pick(&living);
        if world.chance.one_in(4) {
            world.transcript.note(format_args!("operator {process} is asked to go"));
            world.processes.stop(process);
        } else {
            let most = world.chance.pick(&[2000, 12_000, 40_000]);
            let time = world.chance.millis(most);
            cut_off(world, process, time);
        }
    }
    next(world);
}

fn cut_off(world: &mut World, process: u32, time: Duration) {
    world.transcript.note(format_args!("operator {process} is cut off for {time:?}"));
    world.processes.cut_off(process, time);
}
