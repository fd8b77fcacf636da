//! What commands cannot do: every attempt is a line of a test command that says whether it came through.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::environment::TestEnvironment;
use crate::script::{Script, approves, builds, shout};

/// What should be shut, and how somebody would try to open it. `HOME`, `REPO`, `STATE` and `RUN` stand for folders,
/// `OTHER` for a process of the same user.
const ATTEMPTS: [(&str, &str); 33] = [
    ("read a private key", "cat HOME/.ssh/id_ed25519"),
    ("read it by a link in the tree", "ln -s HOME/.ssh/id_ed25519 key && cat key"),
    ("read it by a link in the temporary folder", "ln -s HOME/.ssh $TMPDIR/k && cat $TMPDIR/k/id_ed25519"),
    ("make a hard link of it", "ln HOME/.ssh/id_ed25519 key2 && cat key2"),
    ("read a password file", "cat HOME/.netrc"),
    ("read a tool's credentials", "cat HOME/.cargo/credentials.toml"),
    ("list the home", "ls HOME"),
    ("write to the home", "echo x > HOME/evil"),
    ("add a program to the search path", "echo x > HOME/.local/bin/git"),
    ("start something at the next login", "echo x >> HOME/.profile"),
    ("read the user's own files beside the repository", "cat REPO/secret.env"),
    ("write to the user's repository", "echo x > REPO/src/evil.sh"),
    ("set a hook there", "echo x > REPO/.git/hooks/pre-commit"),
    ("write an object there", "echo x > REPO/.git/objects/evil"),
    ("move a branch there", "echo x > REPO/.git/refs/heads/evil"),
    ("read the journal", "cat RUN/journal.jsonl"),
    ("read the journal by a relative path", "cat ../journal.jsonl"),
    ("write the journal", "echo x >> RUN/journal.jsonl"),
    ("read what is kept of baselines", "ls STATE/checkmate/baselines"),
    ("put a green baseline there", "echo x > STATE/checkmate/baselines/evil.json"),
    ("read the scripted agents", "cat RUN/script.json"),
    ("write to the system", "echo x > /etc/evil"),
    ("write to another user's folder", "echo x > /var/evil"),
    ("leave something in the system's temporary folder", "echo x > /tmp/checkmate-evil; false"),
    ("see the processes of others", "ls -d /proc/OTHER"),
    ("read their environment", "cat /proc/OTHER/environ"),
    ("end them", "kill -9 OTHER"),
    ("reach another machine", "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 1)'"),
    (
        "send a packet",
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"192.0.2.1\", 53))'",
    ),
    ("talk to the host of a virtual machine", "python3 -c 'import socket; socket.socket(40, 1)'"),
    ("mount something", "mount -t tmpfs none /mnt"),
    ("read the kernel's messages", "dmesg"),
    (
        "type into the user's terminal",
        "python3 -c 'import fcntl; fcntl.ioctl(open(\"/dev/tty\"), 0x5412, b\"x\")'",
    ),
];

/// What tests do all the time.
const USUAL: [(&str, &str); 12] = [
    ("write to the tree", "echo x > made && cat made"),
    ("write to the temporary folder", "echo x > $TMPDIR/made && cat $TMPDIR/made"),
    ("write to /tmp", "echo x > /tmp/made && cat /tmp/made"),
    ("look at the history", "git log --oneline"),
    (
        "commit in a repository of its own",
        "git init -q g && cd g && git -c user.name=a -c user.email=b commit -q --allow-empty -m x",
    ),
    (
        "talk to itself over the loopback",
        "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); socket.create_connection(s.getsockname(), 2)'",
    ),
    (
        "the same with IPv6",
        "python3 -c 'import socket; s = socket.socket(socket.AF_INET6); s.bind((\"::1\", 0)); s.listen(); socket.create_connection(s.getsockname()[:2], 2)'",
    ),
    ("look up localhost", "python3 -c 'import socket; socket.getaddrinfo(\"localhost\", 80)'"),
    ("use several processes", "python3 -c 'from multiprocessing import Pool; print(Pool(2).map(abs, [-1]))'"),
    ("end its own child", "sleep 30 & kill -9 $!"),
    ("read random numbers", "head -c 8 /dev/urandom > /dev/null"),
    ("see itself", "cat /proc/self/status > /dev/null"),
];

/// Runs the lines as a test command and returns which came through, and what the others said.
fn tried(lines: &[(&str, &str)], sandbox: serde_json::Value) -> BTreeMap<String, Result<(), String>> {
    let environment = TestEnvironment::outside();
    for (path, text) in [
        ("home/.ssh/id_ed25519", "KEY"),
        ("home/.netrc", "machine x password y"),
        ("home/.cargo/credentials.toml", "token"),
        ("home/.local/bin/tool", ""),
        ("home/.profile", ""),
    ] {
        let path = environment.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let state = environment.path("state");
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let mut script = String::from("run=$(dirname \"$PWD\")\n");
    for (number, (_, line)) in lines.iter().enumerate() {
        let line = line
            .replace("HOME", &environment.path("home").display().to_string())
            .replace("REPO", &environment.root().display().to_string())
            .replace("STATE", &state.display().to_string())
            .replace("RUN", "$run")
            .replace("OTHER", &other.id().to_string());
        script.push_str(&format!(
            "if said=$( ( {line} ) 2>&1 ); then echo \"came {number}\"; else echo \"shut {number} $said\" | tr '\\n' ' '; echo; fi\n"
        ));
    }
    environment.write("test/run.sh", format!("{script}echo 1..1\necho ok 1\n"));
    environment.config(json!({"sandbox": sandbox, "max_iterations": 1}));
    environment.write("secret.env", "SECRET");
    environment.cycle(&Script::new().builder(builds(&shout("$1!"))).reviewer(approves()));
    assert!(other.try_wait().unwrap().is_none(), "somebody ended another process");
    assert!(!Path::new("/tmp/checkmate-evil").exists(), "something was left in /tmp");
    other.kill().unwrap();
    other.wait().unwrap();
    let evidence = environment.evidence();
    let told = evidence[0]["receipt"]["stdout"]["text"].as_str().unwrap().to_owned();
    let name = |number: &str| lines[number.parse::<usize>().unwrap()].0.to_owned();
    let mut found = BTreeMap::new();
    for line in told.lines() {
        if let Some(number) = line.strip_prefix("came ") {
            found.insert(name(number), Ok(()));
        } else if let Some((number, said)) = line.strip_prefix("shut ").and_then(|rest| rest.split_once(' '))
        {
            found.insert(name(number), Err(said.to_owned()));
        }
    }
    assert_eq!(found.len(), lines.len(), "{told}");
    found
}

/// Tells whether this machine can confine commands at all; where it cannot, there is nothing to test.
fn is_supported() -> bool {
    let environment = TestEnvironment::new();
    let support = environment.run(&["confined", "probe"]).stdout;
    support.contains(r#""namespaces":true,"files":true,"calls":true"#)
}

#[test]
fn no_attempt_to_escape_comes_through() {
    if !is_supported() {
        return;
    }
    let came: Vec<String> = tried(&ATTEMPTS, json!(true))
        .into_iter()
        .filter_map(|(name, result)| result.is_ok().then_some(name))
        .collect();
    assert_eq!(came, [""; 0]);
}

#[test]
fn what_tests_do_all_the_time_works() {
    let shut: Vec<(String, String)> = tried(&USUAL, json!(true))
        .into_iter()
        .filter_map(|(name, result)| result.err().map(|said| (name, said)))
        .collect();
    assert_eq!(shut, []);
}

#[test]
fn nothing_outlives_a_command() {
    if !is_supported() {
        return;
    }
    let environment = TestEnvironment::new();
    environment.write(
        "test/run.sh",
        "env -i setsid sleep 4321 > /dev/null 2>&1 < /dev/null &\nsleep 0.2\necho 1..1\necho ok 1\n",
    );
    environment.config(json!({"sandbox": true}));
    environment.cycle(&Script::new().builder(builds(&shout("$1!"))).reviewer(approves())).ended(0);
    let left = Command::new("pgrep").args(["-f", "^sleep 4321"]).output().unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&left), "");
}

#[test]
fn what_the_configuration_names_is_there() {
    if !is_supported() {
        return;
    }
    let environment = TestEnvironment::new();
    for folder in ["given", "lent", "kept"] {
        std::fs::create_dir(environment.path(folder)).unwrap();
        std::fs::write(environment.path(folder).join("file"), "x").unwrap();
    }
    let path = |name: &str| environment.path(name).display().to_string();
    environment.write(
        "test/run.sh",
        format!(
            "set -e\necho y > {0}/file\ncat {1}/file\n! echo y > {1}/file\n! cat {2}/file\necho 1..1\necho ok 1\n",
            path("given"),
            path("lent"),
            path("kept")
        ),
    );
    environment.config(json!({"sandbox": {"write": [path("given")], "read": [path("lent")], "processes": 500, "memory_mb": 4000}}));
    environment.cycle(&Script::new().builder(builds(&shout("$1!"))).reviewer(approves())).ended(0);
    assert_eq!(std::fs::read_to_string(environment.path("given").join("file")).unwrap(), "y\n");
}

#[test]
fn what_is_linked_can_be_read_and_not_written() {
    if !is_supported() {
        return;
    }
    let environment = TestEnvironment::outside();
    environment.write(".gitignore", "node_modules/\n");
    environment.write("node_modules/lib.js", "x\n");
    let test = "set -e\ncat node_modules/lib.js\n! echo y > node_modules/lib.js\necho 1..1\necho ok 1\n";
    environment.write("test/run.sh", test);
    environment.config(json!({"sandbox": true, "link_paths": ["node_modules"]}));
    environment.cycle(&Script::new().builder(builds(&shout("$1!"))).reviewer(approves())).ended(0);
    assert_eq!(environment.read("node_modules/lib.js"), "x\n");
}

#[test]
fn too_much_memory_is_refused() {
    if !is_supported() {
        return;
    }
    let environment = TestEnvironment::new();
    environment
        .write("test/run.sh", "python3 -c 'bytearray(1 << 30)' || echo refused\necho 1..1\necho ok 1\n");
    environment.config(json!({"sandbox": {"memory_mb": 200}}));
    environment.cycle(&Script::new().builder(builds(&shout("$1!"))).reviewer(approves())).ended(0);
    assert!(environment.evidence()[0]["receipt"]["stdout"]["text"].as_str().unwrap().starts_with("refused"));
}

/// Root keeps rights over a program's start that others lose, so both have to be tried.
#[test]
fn somebody_who_is_not_root_is_confined_as_well() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let program = folder.path().join("checkmate");
    std::fs::copy(env!("CARGO_BIN_EXE_checkmate"), &program).unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let probe = |mut command: Command| {
        let output = command.args(["confined", "probe"]).current_dir("/").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut other = Command::new("setpriv");
    other.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]).arg(&program);
    // Only root can become somebody else; who is not root is tried by every other test here.
    if rustix::process::geteuid().is_root() && Command::new("setpriv").arg("--version").output().is_ok() {
        assert_eq!(probe(other), probe(Command::new(&program)));
    }
}
