//! nginx before the servers, with the configuration of `docs/examples` but for ports and folders.
//!
//! Does not depend on the servers but for their ports.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::Bench;
use super::part::{Ending, Launch, Part, is_ready, words};
use crate::failure::Failure;

/// The example, and what a demo on one machine has in the place of some of its lines.
const EXAMPLE: &str = include_str!("../../../../docs/examples/nginx-cluster.conf");
const LISTEN: &str = "    listen 80;\n    listen [::]:80;\n";
const SERVERS: &str = "    server 10.0.0.11:8080 max_fails=0;\n    server 10.0.0.12:8080 max_fails=0;\n    server 10.0.0.13:8080 max_fails=0;\n";
/// What nginx keeps in folders of the system where nothing else is said.
const TEMPORARY: [&str; 5] = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

pub(super) fn start(bench: &Bench<'_>, port: u16, servers: &[u16]) -> Result<Part, Failure> {
    let folder = bench.folder.join("nginx");
    fs::create_dir(&folder).map_err(Failure::io(&folder, "create"))?;
    let file = folder.join("nginx.conf");
    let text = configuration(&folder, port, servers);
    fs::write(&file, text).map_err(Failure::io(&file, "write"))?;
    let launch = Launch {
        name: "balancer",
        program: &bench.programs.nginx,
        arguments: words([&"-p", &folder, &"-c", &file]),
        folder: folder.clone(),
        variables: Vec::new(),
        ending: Ending::Terminate,
        owner: None,
    };
    let mut part = launch.start(bench, port)?;
    part.wait_until(bench, || is_ready(port))?;
    Ok(part)
}

/// The whole configuration. nginx is one process, so that nothing of it outlives a kill.
fn configuration(folder: &Path, port: u16, servers: &[u16]) -> String {
    let mut places = String::new();
    for name in TEMPORARY {
        let _ = writeln!(places, "    {name}_temp_path \"{}/{name}\";", folder.display());
    }
    let servers: String =
        servers.iter().map(|port| format!("    server 127.0.0.1:{port} max_fails=0;\n")).collect();
    let site = EXAMPLE.replace(LISTEN, &format!("    listen 127.0.0.1:{port};\n")).replace(SERVERS, &servers);
    format!(
        "daemon off;\nmaster_process off;\npid \"{}/pid\";\nerror_log stderr;\nevents {{ }}\nhttp {{\n    \
         access_log off;\n{places}{site}}}\n",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_is_the_example_with_own_ports() {
        assert!(EXAMPLE.contains(LISTEN) && EXAMPLE.contains(SERVERS));
        let text = configuration(Path::new("/tmp/c"), 4_000, &[4_001, 4_002]);
        assert!(text.contains("listen 127.0.0.1:4000;\n"));
        assert!(
            text.contains("    server 127.0.0.1:4001 max_fails=0;\n    server 127.0.0.1:4002 max_fails=0;\n")
        );
        assert!(!text.contains("listen 80") && !text.contains("10.0.0."));
    }
}
