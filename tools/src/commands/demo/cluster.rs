//! `demo --cluster`: starts the demo on several servers, and prints what to try. Does not depend on how the parts are started.

use std::path::Path;

use serde_json::{Value, json};

use super::super::{print_json, print_text};
use super::{commands, entrance, print_datasets};
use crate::demo::cluster::{Cluster, Stop, Told, ToldPart};
use crate::demo::{DemoAccount, DemoDataset};
use crate::failure::Failure;

/// The part that people are asked to kill first.
const VICTIM: &str = "server 1";

/// Runs the cluster until SIGINT or SIGTERM.
pub(super) fn run(folder: Option<&Path>, scale: f64, json: bool) -> Result<(), Failure> {
    let stop = Stop::on_signals().map_err(Failure::io(Path::new("signals"), "wait for"))?;
    let (mut cluster, offered, customer) = Cluster::start(folder, scale, &stop)?;
    if json {
        print_json(&document(&cluster.told, &offered, &customer))?;
    } else {
        print_text(&entrance(&cluster.told.url, Some(&customer)))?;
        print_datasets(&offered)?;
        print_text(&commands(&cluster.told.url, &customer.key))?;
        print_text(&to_try(&cluster.told))?;
        print_text("Serving; Ctrl-C ends all of it.")?;
    }
    cluster.watch(&stop)
}

fn document(told: &Told, offered: &[DemoDataset], customer: &DemoAccount) -> Value {
    json!({
        "data": told.directory,
        "url": told.url,
        "serving": true,
        "datasets": offered,
        "account": customer.account,
        "key": customer.key,
        "email": customer.email,
        "password": customer.password,
        "cluster": told,
    })
}

/// The parts, and commands that work as pasted.
fn to_try(told: &Told) -> String {
    let Told { directory, environment, books, store, promote, .. } = told;
    let parts: String = told.parts.iter().map(line).collect();
    let pid = |name: &str| told.parts.iter().find(|part| part.name == name).map_or(0, |part| part.pid);
    let (victim, primary) = (pid(VICTIM), pid("primary"));
    format!(
        "\
The cluster; logs and data are below {directory}:

{parts}
The servers, how long their leases last, and the catalogue that each serves:

  mercato-tools cluster status --books '{books}'

Kill a server without warning. nginx asks the others, and its lease ends within ten seconds:

  kill -9 {victim}

Kill the primary without warning and promote the standby. Whatever was paid before is there; what costs is answered 503 until then:

  kill -9 {primary}
  {promote}

Add up every entry of the books:

  mercato-tools ledger verify --books '{books}'

Publish into it, in a shell that has read its addresses:

  . '{environment}'
  mercato-tools datasets list --store {store} --books '{books}'
"
    )
}

fn line(part: &ToldPart) -> String {
    format!("  {:<10} {:<10} {:<16} pid {}\n", part.name, part.program, part.address, part.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_processes_to_kill() {
        let part = |name: &str, pid| ToldPart {
            name: name.to_owned(),
            program: "mercato",
            address: "127.0.0.1:1".to_owned(),
            pid,
        };
        let told = Told {
            directory: "/tmp/c".to_owned(),
            environment: "/tmp/c/environment".to_owned(),
            url: "http://127.0.0.1:1".to_owned(),
            books: "postgres://m@127.0.0.1:2,127.0.0.1:3/m".to_owned(),
            store: "s3://mercato/demo".to_owned(),
            promote: "psql -c 'SELECT pg_promote()'".to_owned(),
            parts: vec![part("balancer", 10), part("server 1", 11), part("primary", 12)],
        };
        let text = to_try(&told);
        assert!(text.contains("\n  kill -9 11\n"), "{text}");
        assert!(text.contains("\n  kill -9 12\n  psql -c 'SELECT pg_promote()'\n"), "{text}");
        assert!(text.contains("  server 1   mercato    127.0.0.1:1      pid 11\n"), "{text}");
    }
}
