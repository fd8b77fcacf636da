//! Drives the real `checkmate` program from outside: real git, real processes, real files.
//!
//! Only models are replaced, by replay scripts. Everything is in one binary, so that it is linked once.

#[cfg(test)]
mod bad_days;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod pages;
mod plays;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod scenes;
#[cfg(test)]
mod script;
#[cfg(test)]
mod terminal;

#[cfg(test)]
mod test_agents_reading;
#[cfg(test)]
mod test_allowlist;
#[cfg(test)]
mod test_apply;
#[cfg(test)]
mod test_arbiter;
#[cfg(test)]
mod test_bad_days;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod test_bad_days_disk;
#[cfg(test)]
mod test_bad_days_git;
#[cfg(test)]
mod test_budget;
mod test_card;
#[cfg(test)]
mod test_commands;
#[cfg(test)]
mod test_config;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod test_confinement;
#[cfg(test)]
mod test_crash;
#[cfg(test)]
mod test_demo;
#[cfg(test)]
mod test_doctor;
#[cfg(test)]
mod test_documentation;
#[cfg(test)]
mod test_evidence;
#[cfg(test)]
mod test_gates;
#[cfg(test)]
mod test_history;
#[cfg(test)]
mod test_init;
#[cfg(test)]
mod test_landing;
#[cfg(test)]
mod test_odd_repositories;
#[cfg(test)]
mod test_providers;
#[cfg(test)]
mod test_replies;
#[cfg(test)]
mod test_resume;
#[cfg(test)]
mod test_reviews;
#[cfg(test)]
mod test_run;
#[cfg(test)]
mod test_secrets;
#[cfg(test)]
mod test_serve;
#[cfg(test)]
mod test_serve_crash;
#[cfg(test)]
mod test_serve_follow;
#[cfg(test)]
mod test_serve_hostile;
#[cfg(test)]
mod test_serve_runs;
#[cfg(test)]
mod test_serve_workspaces;
#[cfg(test)]
mod test_stuck;
#[cfg(test)]
mod test_terminal;
#[cfg(test)]
mod test_user_tree;
#[cfg(test)]
mod test_verify;
