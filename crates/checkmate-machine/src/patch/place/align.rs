//! Alignments of a hunk's old lines with lines of a file that leave lines of the file out.

/// How many lines may be left out in silence between two lines of a hunk.
pub(super) const NEAR: usize = 3;

/// How many alignments are told apart.
const MOST_ALIGNMENTS: usize = 256;

/// How many pairs of a line of the hunk and a line of the file are looked at.
pub(super) const MOST_PAIRS: usize = 100_000;

/// How far two lines of a hunk may be apart in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bridge {
    /// Not at all.
    Adjacent,
    /// Up to [`NEAR`] lines.
    Near,
    /// The same, but between two deleted lines, where lines are left out less often.
    Inside,
    /// Any number of lines, because a `@@` may be missing there.
    Far,
    /// Any number of lines, because the hunk says that lines are left out; the nearest are meant.
    Marked,
}

/// What an alignment leaves out; the least wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Cost {
    /// Places where lines are left out in silence, be they few or many.
    gaps: usize,
    /// Those of them that stand between two deleted lines.
    inside: usize,
    /// Those of them where more than [`NEAR`] are left out.
    jumps: usize,
    /// Lines left out where the hunk says so.
    marked: usize,
}

impl Bridge {
    /// The cost of going from one line of the file to a later one.
    fn cost(self, from: usize, to: usize) -> Option<Cost> {
        let left_out = to.checked_sub(from + 1)?;
        match self {
            Bridge::Marked => Some(Cost { marked: left_out, ..Cost::default() }),
            _ if left_out == 0 => Some(Cost::default()),
            Bridge::Near | Bridge::Far if left_out <= NEAR => Some(Cost { gaps: 1, ..Cost::default() }),
            Bridge::Inside if left_out <= NEAR => Some(Cost { gaps: 1, inside: 1, ..Cost::default() }),
            Bridge::Far => Some(Cost { gaps: 1, jumps: 1, ..Cost::default() }),
            Bridge::Adjacent | Bridge::Near | Bridge::Inside => None,
        }
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            gaps: self.gaps + other.gaps,
            inside: self.inside + other.inside,
            jumps: self.jumps + other.jumps,
            marked: self.marked.saturating_add(other.marked),
        }
    }
}

/// Finds the alignments that leave out least; `places` has the lines of the file for each line of the hunk.
pub(super) fn align(places: &[Vec<usize>], bridges: &[Bridge]) -> Vec<Vec<usize>> {
    let costs = costs(places, bridges);
    let Some(least) = costs.first().and_then(|costs| costs.iter().flatten().min()) else { return Vec::new() };
    let mut found = Vec::new();
    // A stack of alignments that are begun, each with the cost of what is still to come.
    let mut begun: Vec<(Vec<usize>, Cost)> = starts(places, &costs, *least);
    while let Some((alignment, rest)) = begun.pop() {
        if found.len() >= MOST_ALIGNMENTS {
            break;
        }
        let (depth, last) = (alignment.len(), alignment.last().copied().unwrap_or_default());
        let (Some(bridge), Some(next)) = (bridges.get(depth - 1), places.get(depth)) else {
            found.push(alignment);
            continue;
        };
        let first = next.partition_point(|place| *place <= last);
        let reach = if matches!(bridge, Bridge::Near | Bridge::Inside | Bridge::Adjacent) {
            NEAR + 1
        } else {
            usize::MAX
        };
        let within = next.iter().enumerate().skip(first).take_while(|(_, to)| **to - last <= reach);
        for (number, to) in within {
            let remaining = costs.get(depth).and_then(|costs| costs.get(number).copied().flatten());
            let step = bridge.cost(last, *to);
            if let (Some(remaining), Some(step)) = (remaining, step)
                && step + remaining == rest
                && begun.len() < MOST_ALIGNMENTS
            {
                let mut longer = alignment.clone();
                longer.push(*to);
                begun.push((longer, remaining));
            }
        }
    }
    found
}

fn starts(places: &[Vec<usize>], costs: &[Vec<Option<Cost>>], least: Cost) -> Vec<(Vec<usize>, Cost)> {
    let first = places.iter().zip(costs).take(1).flat_map(|(places, costs)| places.iter().zip(costs));
    let cheapest = first.filter(|(_, cost)| **cost == Some(least));
    // The last that is put on the stack is the first that is taken.
    let mut starts: Vec<_> = cheapest.map(|(place, _)| (vec![*place], least)).take(MOST_ALIGNMENTS).collect();
    starts.reverse();
    starts
}

/// The least cost from each place of each line to the end of the hunk; `None` where no alignment goes on.
fn costs(places: &[Vec<usize>], bridges: &[Bridge]) -> Vec<Vec<Option<Cost>>> {
    let mut costs: Vec<Vec<Option<Cost>>> =
        places.last().map(|last| vec![Some(Cost::default()); last.len()]).into_iter().collect();
    for (ends, bridge) in places.windows(2).zip(bridges).rev() {
        let (from, to) = (&ends[0], &ends[1]);
        let after = costs.last().map_or(&[][..], Vec::as_slice);
        let far = cheapest_after(to, after, false);
        let marked = cheapest_after(to, after, true);
        let cost = |place: &usize| {
            let first = to.partition_point(|other| other <= place);
            let near = to.iter().zip(after).skip(first).take_while(|(other, _)| **other - place <= NEAR + 1);
            let near = near.filter_map(|(other, rest)| Some(bridge.cost(*place, *other)? + (*rest)?)).min();
            let wide = match bridge {
                Bridge::Adjacent | Bridge::Near | Bridge::Inside => None,
                Bridge::Far => {
                    let beyond = to.partition_point(|other| *other <= place + NEAR + 1);
                    let rest = far.get(beyond).copied().flatten();
                    rest.map(|rest| rest + Cost { gaps: 1, jumps: 1, ..Cost::default() })
                }
                Bridge::Marked => {
                    let rest = marked.get(first).copied().flatten();
                    rest.map(|rest| Cost { marked: rest.marked.saturating_sub(place + 1), ..rest })
                }
            };
            near.into_iter().chain(wide).min()
        };
        let next = from.iter().map(cost).collect();
        costs.push(next);
    }
    costs.reverse();
    costs
}

/// For each place the least cost there or after it, with the line's number added where distance counts.
fn cheapest_after(places: &[usize], costs: &[Option<Cost>], by_distance: bool) -> Vec<Option<Cost>> {
    let mut least: Option<Cost> = None;
    let mut cheapest: Vec<Option<Cost>> = Vec::with_capacity(places.len());
    for (place, cost) in places.iter().zip(costs).rev() {
        let distance = Cost { marked: if by_distance { *place } else { 0 }, ..Cost::default() };
        least = least.into_iter().chain(cost.map(|cost| cost + distance)).min();
        cheapest.push(least);
    }
    cheapest.reverse();
    cheapest
}
