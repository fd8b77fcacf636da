//! Past runs, and what was said in them: an index over the journals that can be thrown away at any time.
//!
//! `$STATE/checkmate/index.sqlite` is made anew when it is missing, damaged or of another version. What it knows of a run
//! is right as long as the run's journal has the same length; else the journal is read again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use checkmate_machine::event::{Answer, Event};
use checkmate_machine::ids::RunId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::feed::{Feed, Teller};
use crate::error::CommandError;
use crate::journal::{self, Contents};
use crate::session::Project;
use crate::state::JOURNAL;
use crate::wire::{Hit, RunState, Standing};

/// Another number throws old indexes away.
const VERSION: i64 = 2;
/// The most that is kept of one run's words, in bytes.
const WORDS: usize = 256 << 10;
/// The most runs that a search finds.
const HITS: u32 = 50;

/// How many journals are read before others may use the index.
const PORTION: usize = 32;
/// A portion that took so long lets others have the index for a moment.
const LONG: Duration = Duration::from_millis(20);
const BREATH: Duration = Duration::from_millis(2);
/// How long the index is kept in memory where its file cannot be used, before that is tried again.
const MAKESHIFT: Duration = Duration::from_secs(60);

/// The index.
#[derive(Debug)]
pub(super) struct History {
    path: PathBuf,
    index: Mutex<Option<Index>>,
    /// How often it was opened: each time it may know less than before.
    opened: AtomicU64,
}

#[derive(Debug)]
struct Index {
    connection: Connection,
    /// Until when it is used; one in a file is for good.
    until: Option<Instant>,
}

/// How far the index of a workspace's runs has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It knows every run.
    Whole,
    /// It knows this run and the later ones.
    DownTo(RunId),
    /// It knows none yet.
    Nothing,
}

impl History {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, index: Mutex::new(None), opened: AtomicU64::new(0) }
    }

    /// Takes note of a run that has changed. What fails here is found out again when runs are listed.
    pub(super) fn note(&self, project: &Project, id: &RunId) {
        self.with(|index| {
            let whole = index.unchecked_transaction()?;
            renew(index, &project.runs.run(id), id)?;
            whole.commit()
        })
        .ok();
    }

    /// Lists runs of a workspace, the latest first, at most so many, and tells whether there are more. Of runs that go on
    /// `live` knows where they stand.
    pub(super) fn list(
        &self,
        project: &Project,
        before: Option<&RunId>,
        limit: usize,
        live: impl Fn(&RunId) -> Option<RunState>,
    ) -> Result<(Vec<RunState>, bool), CommandError> {
        let runs = project.runs.list()?;
        let older = runs.iter().rev().filter(|run| before.is_none_or(|before| *run < before));
        let wanted: Vec<&RunId> = older.take(limit + 1).collect();
        let more = wanted.len() > limit;
        let states = self.with(|index| {
            let whole = index.unchecked_transaction()?;
            let mut states = Vec::new();
            for id in wanted.iter().take(limit) {
                if let Some(state) = live(id) {
                    states.push(state);
                    continue;
                }
                let folder = project.runs.run(id);
                let Some(mut state) = renew(index, &folder, id)? else { continue };
                // Its journal does not say whether somebody else drives it right now.
                if state.standing == Standing::Interrupted && journal::is_driven(&folder) {
                    state.standing = Standing::Running;
                }
                states.push(state);
            }
            whole.commit()?;
            Ok(states)
        })?;
        Ok((states, more))
    }

    /// Tells how often the index was opened.
    pub(super) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Reads the journals that the index does not know, the latest first, from before a run on, until it is time to stop.
    pub(super) fn learn(
        &self,
        project: &Project,
        before: Option<&RunId>,
        end: Instant,
    ) -> Result<Progress, CommandError> {
        let runs = project.runs.list()?;
        let older: Vec<&RunId> =
            runs.iter().rev().filter(|run| before.is_none_or(|before| *run < before)).collect();
        let mut latest = before.cloned();
        for portion in older.chunks(PORTION) {
            if Instant::now() >= end {
                return Ok(latest.map_or(Progress::Nothing, Progress::DownTo));
            }
            let began = Instant::now();
            self.with(|index| {
                let whole = index.unchecked_transaction()?;
                for id in portion {
                    renew(index, &project.runs.run(id), id)?;
                }
                whole.commit()
            })?;
            latest = portion.last().map(|id| (*id).clone());
            if began.elapsed() > LONG {
                // A lock goes to whoever asks first, and that would be this one again.
                std::thread::sleep(BREATH);
            }
        }
        Ok(Progress::Whole)
    }

    /// Finds the runs of a workspace in which every word occurs, and tells whether all were looked through.
    pub(super) fn search(
        &self,
        project: &Project,
        query: &str,
        end: Instant,
    ) -> Result<(Vec<Hit>, bool), CommandError> {
        let Some(wanted) = expression(query) else { return Ok((Vec::new(), true)) };
        let progress = self.learn(project, None, end)?;
        let root = project.repository.root().to_string_lossy().into_owned();
        let hits = self.with(|index| {
            let mut statement = index.prepare(
                "SELECT runs.state, snippet(words, 1, char(1), char(2), '…', 24) FROM words \
                 JOIN runs ON runs.run = words.run \
                 WHERE words MATCH ?1 AND runs.workspace = ?2 ORDER BY rank LIMIT ?3",
            )?;
            let rows = statement.query_map(params![wanted, root, HITS], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })?;
            let mut hits = Vec::new();
            for row in rows {
                let (state, excerpt) = row?;
                if let Ok(state) = serde_json::from_str(&state) {
                    hits.push(Hit { state, excerpt });
                }
            }
            Ok(hits)
        })?;
        Ok((hits, progress == Progress::Whole))
    }

    /// Uses the index. One that is damaged is thrown away and made anew, once; where its file cannot be used, such as on a
    /// full disk, one in memory takes its place for a while.
    fn with<T>(
        &self,
        mut work: impl FnMut(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, CommandError> {
        let mut held = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().and_then(|index| index.until).is_some_and(|until| until <= Instant::now()) {
            *held = None;
        }
        for _ in 0..2 {
            let index = match held.take() {
                Some(index) => Ok(index),
                None => {
                    self.opened.fetch_add(1, Ordering::Relaxed);
                    open(&self.path).map(|connection| Index { connection, until: None })
                }
            };
            let failed = match index.map(|index| held.insert(index)) {
                Ok(index) => match work(&index.connection) {
                    Ok(done) => return Ok(done),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            *held = None;
            if !is_damaged(&failed) {
                break;
            }
            throw_away(&self.path);
        }
        let unusable = |error: rusqlite::Error| {
            CommandError::local(format!(
                "The index of past runs cannot be made: {error}. The runs themselves are whole; `checkmate runs` lists them."
            ))
        };
        let connection = Connection::open_in_memory().and_then(prepared).map_err(unusable)?;
        let index = held.insert(Index { connection, until: Some(Instant::now() + MAKESHIFT) });
        work(&index.connection).map_err(unusable)
    }
}

/// Tells whether the file is at fault, and not what is around it.
fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode;
    // What SQLite calls unknown is an error in the statement: other tables than those of this program.
    error.sqlite_error_code().is_none_or(|code| {
        matches!(
            code,
            ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::SchemaChanged
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown
        )
    })
}

fn throw_away(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        std::fs::remove_file(name).ok();
    }
}

fn open(path: &Path) -> Result<Connection, rusqlite::Error> {
    if let Some(folder) = path.parent() {
        crate::state::make(folder).ok();
    }
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(1))?;
    // It can be made anew, so a power cut may take it.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    prepared(connection)
}

/// Sees that an index has this program's tables.
fn prepared(connection: Connection) -> Result<Connection, rusqlite::Error> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != VERSION {
        connection.execute_batch(&format!(
            "BEGIN;
             DROP TABLE IF EXISTS runs;
             DROP TABLE IF EXISTS words;
             CREATE TABLE runs (run TEXT PRIMARY KEY, workspace TEXT NOT NULL, length INTEGER NOT NULL, \
                                state TEXT NOT NULL) WITHOUT ROWID;
             CREATE VIRTUAL TABLE words USING fts5 (run UNINDEXED, text, tokenize = 'unicode61');
             PRAGMA user_version = {VERSION};
             COMMIT;"
        ))?;
    }
    Ok(connection)
}

/// Returns where a run stands, from the index if its journal is as long as then. A journal that cannot be read is no run.
fn renew(index: &Connection, folder: &Path, id: &RunId) -> Result<Option<RunState>, rusqlite::Error> {
    let Ok(length) = std::fs::metadata(folder.join(JOURNAL)).map(|metadata| metadata.len()) else {
        return Ok(None);
    };
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let known: Option<String> = index
        .prepare("SELECT state FROM runs WHERE run = ?1 AND length = ?2")?
        .query_row(params![id.as_str(), length], |row| row.get(0))
        .optional()?;
    if let Some(state) = known.and_then(|state| serde_json::from_str(&state).ok()) {
        return Ok(Some(state));
    }
    let Ok(contents) = journal::read(folder) else { return Ok(None) };
    let state = state(&contents);
    let text = words(&contents);
    let json = serde_json::to_string(&state).unwrap_or_default();
    index
        .prepare("REPLACE INTO runs (run, workspace, length, state) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![id.as_str(), state.workspace, length, json])?;
    index.prepare("DELETE FROM words WHERE run = ?1")?.execute(params![id.as_str()])?;
    index.prepare("INSERT INTO words (run, text) VALUES (?1, ?2)")?.execute(params![id.as_str(), text])?;
    Ok(Some(state))
}

/// Returns where the run of a journal stands. One that this program cannot replay is told by what was written down.
fn state(contents: &Contents) -> RunState {
    let feed = std::sync::Arc::new(Feed::new(contents.header.clone(), Standing::Interrupted));
    let mut teller = Teller { feed: std::sync::Arc::clone(&feed), desk: None, changed: None };
    match contents.retell(&mut teller) {
        Ok(run) if run.tasks().first().and_then(|task| run.outcome(task)).is_none() => {
            feed.stands_since(Standing::Interrupted, None);
        }
        Ok(_) => {}
        Err(error) => feed.stands_since(Standing::Error, Some(error.to_string())),
    }
    feed.state()
}

/// Returns the words of a run: what was wanted, what agents said, and how it ended.
fn words(contents: &Contents) -> String {
    let mut text = String::new();
    let mut add = |more: &str| {
        let room = WORDS.saturating_sub(text.len());
        let cut = more.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last();
        text.push_str(&more[..cut.unwrap_or(0)]);
        text.push('\n');
    };
    for task in &contents.header.tasks {
        add(&task.spec.task.goal);
    }
    for record in contents.records() {
        if let Event::Answered { answer: Answer::Called(called), .. } = &record.event {
            // Escapes of JSON would glue words together.
            add(&called.text.replace("\\n", "\n").replace("\\t", " ").replace("\\\"", "\""));
        }
    }
    let outcome = contents.ended().and_then(|outcome| serde_json::to_string(outcome).ok());
    add(&outcome.unwrap_or_default());
    text
}

/// Turns what somebody typed into an expression of the index: all words, the last one maybe a beginning.
fn expression(query: &str) -> Option<String> {
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .take(16)
        .map(|word| format!("\"{word}\""))
        .collect();
    (!words.is_empty()).then(|| words.join(" ") + "*")
}

/// Where runs of several workspaces are listed together, the latest first.
pub(super) fn merged(lists: Vec<Vec<RunState>>, limit: usize) -> Vec<RunState> {
    let mut all: BTreeMap<RunId, RunState> = BTreeMap::new();
    for state in lists.into_iter().flatten() {
        all.insert(state.run.clone(), state);
    }
    all.into_values().rev().take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::expression;

    #[test]
    fn whatever_is_typed_is_an_expression() {
        let cases = [
            ("retry webhook", Some("\"retry\" \"webhook\"*")),
            ("src/math.ts", Some("\"src\" \"math\" \"ts\"*")),
            ("\"quoted\" AND NOT *", Some("\"quoted\" \"AND\" \"NOT\"*")),
            ("  ", None),
            ("\"'*();--", None),
            ("ünïcode", Some("\"ünïcode\"*")),
        ];
        for (typed, wanted) in cases {
            assert_eq!(expression(typed).as_deref(), wanted, "{typed}");
        }
    }
}
