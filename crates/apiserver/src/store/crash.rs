//! Power loss, full disks and failing fsyncs at every point of a commit. The disk is simulated: what was synced stays,
//! and of what was not, any part may.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use proptest::prelude::*;
use redb::StorageBackend;
use serde_json::{Value, json};

use super::disk::Disk;
use super::index::{Change, Index};
use super::plan::Plan;
use super::{Action, Health, Key, Precondition, Scope, Store, Write};

/// Disks write whole sectors.
const SECTOR: usize = 512;

/// A disk that can lose power or refuse. Clones are the same disk.
#[derive(Clone, Debug, Default)]
struct Simulated(Arc<Mutex<Platter>>);

#[derive(Debug, Default)]
struct Platter {
    synced: Vec<u8>,
    /// What the operating system shows, synced or not.
    cached: Vec<u8>,
    /// Sectors that were written since the last sync.
    dirty: Vec<usize>,
    /// How many operations that change something are still allowed.
    left: Option<usize>,
    /// Whether the next sync fails, and only that.
    bad_sync: bool,
}

impl Simulated {
    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap()
    }

    fn fail_after(&self, operations: usize) {
        self.platter().left = Some(operations);
    }

    fn mend(&self) {
        self.platter().left = None;
    }

    /// The disk after a power loss: each unsynced sector either arrived or did not.
    fn after_power_loss(&self, arrived: u64) -> Self {
        let platter = self.platter();
        let (synced, cached) = (platter.synced.clone(), platter.cached.clone());
        let mut image = Platter { synced, cached, ..Platter::default() };
        image.synced.resize(image.cached.len(), 0);
        let survivors =
            platter.dirty.iter().enumerate().filter(|(number, _)| arrived >> (number % 64) & 1 == 1);
        survivors.for_each(|(_, sector)| image.keep(*sector));
        image.cached = image.synced.clone();
        Self(Arc::new(Mutex::new(image)))
    }
}

impl Platter {
    fn keep(&mut self, sector: usize) {
        let range = sector * SECTOR..((sector + 1) * SECTOR).min(self.cached.len());
        self.synced[range.clone()].copy_from_slice(&self.cached[range]);
    }

    fn spend(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl StorageBackend for Simulated {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platter().cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        out.copy_from_slice(&self.platter().cached[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut platter = self.platter();
        platter.spend()?;
        platter.cached.resize(usize::try_from(length).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.platter();
        let allowed = if std::mem::take(&mut platter.bad_sync) {
            Err(io::Error::other("a sector went bad"))
        } else {
            platter.spend()
        };
        let length = platter.cached.len();
        platter.synced.resize(length, 0);
        // What could not be written is taken for written all the same, as by Linux.
        let dirty = std::mem::take(&mut platter.dirty);
        allowed?;
        for sector in dirty {
            platter.keep(sector);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.platter();
        platter.spend()?;
        let start = usize::try_from(offset).unwrap();
        platter.cached[start..start + data.len()].copy_from_slice(data);
        platter.dirty.extend(start / SECTOR..(start + data.len()).div_ceil(SECTOR));
        Ok(())
    }
}

type State = BTreeMap<Key, Value>;

fn state(index: &Index) -> State {
    index.list(&Scope::resource("pods")).map(|entry| (entry.key.clone(), entry.value())).collect()
}

fn open(disk: &Simulated) -> (Disk, Index) {
    let backend = disk.clone();
    let disk = Disk::backend(move || backend.clone()).expect("a disk that lost power can be opened");
    let index = disk.load(100).expect("a disk that lost power can be read");
    (disk, index)
}

/// Puts if there is a number, deletes if there is none; any precondition fails nothing.
fn batch(index: &Index, writes: &[(u8, Option<u16>)]) -> Vec<Change> {
    let mut plan = Plan::new(index);
    for (name, number) in writes {
        let key = Key::new("pods", None, &name.to_string());
        let action = number.map_or(Action::Delete, |number| {
            Action::Put(json!({"n": number, "pad": "x".repeat(usize::from(number))}))
        });
        for precondition in [Precondition::Present, Precondition::Absent] {
            let _ = plan.add(Write {
                key: key.clone(),
                precondition,
                action: action.clone(),
                guards: Vec::new(),
            });
        }
    }
    plan.changes
}

fn commit(disk: &mut Disk, index: &mut Index, writes: &[(u8, Option<u16>)]) -> Result<(), State> {
    let changes = batch(index, writes);
    let written = disk.commit(&changes, index);
    if written.is_err() {
        return Err(changes.iter().fold(state(index), applied));
    }
    for change in changes {
        index.apply(change);
    }
    Ok(())
}

fn applied(mut state: State, change: &Change) -> State {
    match change {
        Change::Put(entry) => state.insert(entry.key.clone(), entry.value()),
        Change::Delete(entry) => state.remove(&entry.key),
    };
    state
}

fn writes() -> impl Strategy<Value = Vec<Vec<(u8, Option<u16>)>>> {
    let write = (0..6_u8, proptest::option::weighted(0.8, 0..3000_u16));
    prop::collection::vec(prop::collection::vec(write, 1..6), 1..8)
}

#[tokio::test]
async fn a_store_knows_whether_its_writes_reach_the_disk() {
    let platter = Simulated::default();
    let backend = platter.clone();
    let store = Store::start(Disk::backend(move || backend.clone()).unwrap(), 10).unwrap();
    let put = |precondition| store.put(Key::new("pods", None, "a"), precondition, json!({}));
    put(Precondition::Absent).await.unwrap();
    assert_eq!(store.health(), Health::Well);
    platter.fail_after(0);
    put(Precondition::Present).await.unwrap_err();
    put(Precondition::Absent).await.unwrap_err();
    assert_eq!(store.health(), Health::Failing, "what is refused for itself says nothing");
    platter.mend();
    put(Precondition::Present).await.unwrap();
    assert_eq!(store.health(), Health::Well);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(400), ..ProptestConfig::default() })]

    /// The power goes at some point of some commit. Everything acknowledged is there; the batch under way is there
    /// whole or not at all.
    #[test]
    fn power_loss_at_any_point_keeps_what_was_acknowledged(batches in writes(), operations in 0..60_usize, arrived in any::<u64>()) {
        let platter = Simulated::default();
        let (mut disk, mut index) = open(&platter);
        platter.fail_after(operations);
        let under_way = batches.iter().find_map(|writes| commit(&mut disk, &mut index, writes).err());
        let image = platter.after_power_loss(arrived);
        let (_, found) = open(&image);
        let found = state(&found);
        prop_assert!(found == state(&index) || Some(&found) == under_way.as_ref(), "{found:?}");
    }

    /// A sync fails, and what could not be written is taken for written. Later ones work, and then the power goes.
    #[test]
    fn what_is_acknowledged_after_a_failed_sync_survives_power_loss(batches in writes()) {
        let platter = Simulated::default();
        let (mut disk, mut index) = open(&platter);
        for writes in &batches {
            commit(&mut disk, &mut index, writes).expect("a disk that works");
            platter.platter().bad_sync = true;
            let _ = commit(&mut disk, &mut index, &[(writes[0].0, Some(2000)), (7, Some(2000))]);
            platter.platter().bad_sync = false;
            commit(&mut disk, &mut index, &[(9, Some(1))]).expect("a disk that works again");
        }
        let (_, found) = open(&platter.after_power_loss(0));
        prop_assert_eq!(state(&found), state(&index));
    }

    /// The disk refuses at some point and works again later. What was refused has no effect, and nothing else is lost.
    #[test]
    fn a_full_disk_refuses_writes_and_loses_nothing(batches in writes(), operations in 0..60_usize) {
        let platter = Simulated::default();
        let (mut disk, mut index) = open(&platter);
        for writes in &batches {
            platter.fail_after(operations);
            let _ = commit(&mut disk, &mut index, writes);
            platter.mend();
            commit(&mut disk, &mut index, &[(9, Some(1))]).expect("a disk with room again");
        }
        drop(disk);
        let (_, found) = open(&platter);
        prop_assert_eq!(state(&found), state(&index));
        prop_assert_eq!(found.revision(), index.revision());
    }
}
