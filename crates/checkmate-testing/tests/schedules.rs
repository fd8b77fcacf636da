//! Random graphs of tasks: order, blocking, slots, the end, and what is no graph.

use std::collections::BTreeSet;

use checkmate_machine::ids::TaskId;
use checkmate_machine::schedule::{Node, Schedule, ScheduleError, Standing};
use fastrand::Rng;

/// A graph without circles, in an order that says nothing about it.
fn graph(rng: &mut Rng) -> Vec<Node> {
    let count = rng.usize(1..9);
    let mut nodes: Vec<Node> = (0..count)
        .map(|n| Node {
            id: TaskId::new(format!("t{n}")),
            depends_on: (0..n).filter(|_| rng.u32(0..3) == 0).map(|n| TaskId::new(format!("t{n}"))).collect(),
        })
        .collect();
    rng.shuffle(&mut nodes);
    nodes
}

/// Everything that waits for a task, directly or not.
fn dependents(nodes: &[Node], of: &TaskId) -> BTreeSet<TaskId> {
    let mut found = BTreeSet::from([of.clone()]);
    for _ in nodes {
        let more = nodes.iter().filter(|node| node.depends_on.iter().any(|on| found.contains(on)));
        let more: Vec<TaskId> = more.map(|node| node.id.clone()).collect();
        found.extend(more);
    }
    found.remove(of);
    found
}

#[test]
fn tasks_run_in_order_and_a_failure_blocks_exactly_its_dependents() {
    for seed in 0..3_000 {
        let mut rng = Rng::with_seed(seed);
        let nodes = graph(&mut rng);
        let slots = rng.usize(1..5);
        let mut schedule = Schedule::new(nodes.clone(), slots).unwrap();
        let (mut running, mut done, mut failed) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let mut blocked: BTreeSet<TaskId> = BTreeSet::new();
        loop {
            for id in schedule.start_ready() {
                let node = nodes.iter().find(|node| node.id == id).unwrap();
                assert!(
                    node.depends_on.iter().all(|on| done.contains(on)),
                    "seed {seed}: {id} starts too early"
                );
                running.push(id);
            }
            assert!(running.len() <= slots, "seed {seed}: {running:?} in {slots} slots");
            let ready = nodes.iter().any(|node| {
                schedule.standing(&node.id) == Some(Standing::Waiting)
                    && node.depends_on.iter().all(|on| done.contains(on))
            });
            assert!(!ready || running.len() == slots, "seed {seed}: a slot is free and a task is ready");
            assert_eq!(schedule.is_over(), running.is_empty(), "seed {seed}");
            if running.is_empty() {
                break;
            }
            let id = running.swap_remove(rng.usize(0..running.len()));
            let well = rng.u32(0..4) > 0;
            let lost: BTreeSet<TaskId> = schedule.finish(&id, well).into_iter().collect();
            if well {
                assert!(lost.is_empty(), "seed {seed}");
                done.insert(id);
            } else {
                let mut expected = dependents(&nodes, &id);
                expected.retain(|id| !blocked.contains(id));
                assert_eq!(lost, expected, "seed {seed}: what {id} blocks");
                blocked.extend(lost);
                failed.insert(id);
            }
        }
        for node in &nodes {
            let known = [done.contains(&node.id), failed.contains(&node.id), blocked.contains(&node.id)];
            assert_eq!(known.iter().filter(|known| **known).count(), 1, "seed {seed}: {}", node.id);
        }
    }
}

#[test]
fn what_is_no_graph_is_refused_by_name() {
    for seed in 0..1_000 {
        let mut rng = Rng::with_seed(seed);
        let nodes = graph(&mut rng);
        let at = rng.usize(0..nodes.len());
        let id = nodes[at].id.clone();

        let mut twice = nodes.clone();
        twice.push(nodes[at].clone());
        assert_eq!(Schedule::new(twice, 1).err(), Some(ScheduleError::Duplicate(id.clone())), "seed {seed}");

        let mut unknown = nodes.clone();
        unknown[at].depends_on.push(TaskId::new("nobody"));
        let missing = TaskId::new("nobody");
        assert_eq!(
            Schedule::new(unknown, 1).err(),
            Some(ScheduleError::Unknown { task: id.clone(), missing }),
            "seed {seed}"
        );

        let mut circle = nodes.clone();
        let last = dependents(&nodes, &id).into_iter().next().unwrap_or_else(|| id.clone());
        circle[at].depends_on.push(last.clone());
        let Err(ScheduleError::Cycle(tasks)) = Schedule::new(circle.clone(), 1) else {
            panic!("seed {seed}: {circle:?} is no graph")
        };
        assert_eq!(tasks.first(), tasks.last(), "seed {seed}: {tasks:?}");
        assert!(tasks.len() > 1, "seed {seed}: {tasks:?}");
        for pair in tasks.windows(2) {
            let node = circle.iter().find(|node| node.id == pair[0]).unwrap();
            assert!(node.depends_on.contains(&pair[1]), "seed {seed}: {tasks:?} is no circle");
        }
    }
    assert_eq!(Schedule::new(Vec::new(), 1).err(), Some(ScheduleError::Empty));
    let one = Node { id: TaskId::new("a"), depends_on: Vec::new() };
    assert_eq!(Schedule::new(vec![one], 0).err(), Some(ScheduleError::NoSlot));
}
