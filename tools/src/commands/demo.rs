//! The command `demo`: generates data, publishes it, serves it and prints commands to paste. Does not depend on tables.

mod cluster;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{print_json, print_text};
use crate::demo::{DemoAccount, DemoDataset, payments, prepare, start};
use crate::failure::Failure;

/// Time limit for running requests after SIGINT.
const DRAIN: Duration = Duration::from_secs(10);

/// Generate the TPC-H tables and some small made-up ones as Parquet, publish them, create an account and a key, and serve.
///
/// Prints curl commands that work as pasted, and serves until Ctrl-C. A second run on the same directory reuses its
/// data.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mercato-tools demo
  mercato-tools demo --data /tmp/demo --scale 1 --listen 0.0.0.0:9000
  mercato-tools demo --data /tmp/demo --no-serve --json
  mercato-tools demo --cluster

A cluster needs PostgreSQL, nginx and rclone on this machine. Nothing of it listens to other machines.")]
pub struct DemoArguments {
    /// The data directory of the demo.
    #[arg(long, value_name = "DIR", default_value = "mercato-demo")]
    pub data: PathBuf,
    /// Scale factor of TPC-H: 1 is six million order lines, 860 MB of tables before compression.
    #[arg(long, value_name = "FACTOR", default_value = "0.1", value_parser = parse_scale)]
    pub scale: f64,
    /// Address of the public API.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Address of the admin API, `ADDR:PORT` or `unix:PATH`.
    #[arg(long, value_name = "ADDR:PORT|unix:PATH", default_value = "127.0.0.1:8081")]
    pub admin: String,
    /// Prepare everything and exit; `mercato serve --data DIR` serves it.
    #[arg(long)]
    pub no_serve: bool,
    /// Serve it with three servers behind nginx, books on PostgreSQL with a synchronous standby, and versions in an S3 store, all
    /// on this machine and on free ports. DIR is new or empty and stays; without it everything is temporary.
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with_all = ["data", "listen", "admin", "no_serve"])]
    pub cluster: Option<Option<PathBuf>>,
}

/// Runs the command until SIGINT or SIGTERM.
pub fn run(arguments: &DemoArguments, json: bool) -> Result<(), Failure> {
    if let Some(folder) = &arguments.cluster {
        return cluster::run(folder.as_deref(), arguments.scale, json);
    }
    let (offered, customer) = prepare(&arguments.data, arguments.scale)?;
    if arguments.no_serve {
        return announce(arguments, arguments.listen, &offered, &customer, json);
    }
    let mut signals =
        Signals::new([SIGINT, SIGTERM]).map_err(Failure::io(&arguments.data, "wait for signals of"))?;
    let running = start(arguments.data.clone(), arguments.listen, &arguments.admin)?;
    let address = running.public_socket().unwrap_or(arguments.listen);
    announce(arguments, address, &offered, &customer, json)?;
    let _ = signals.forever().next();
    running.stop(DRAIN);
    Ok(())
}

fn announce(
    arguments: &DemoArguments,
    address: SocketAddr,
    offered: &[DemoDataset],
    customer: &DemoAccount,
    json: bool,
) -> Result<(), Failure> {
    let url = format!("http://{}", reachable(address));
    let login = address.ip().is_loopback().then_some(customer);
    if json {
        return print_json(&serde_json::json!({
            "data": arguments.data,
            "url": url,
            "serving": !arguments.no_serve,
            "datasets": offered,
            "account": customer.account,
            "key": customer.key,
            "email": login.map(|login| &login.email),
            "password": login.map(|login| &login.password),
        }));
    }
    print_text(&entrance(&url, login))?;
    print_datasets(offered)?;
    if arguments.no_serve {
        let (data, payments) = (arguments.data.display(), payments(address));
        let serve = format!("mercato serve --data {data} --listen {address} --payments {payments}");
        print_text(&format!("\nServe it with:\n\n  {serve}"))?;
    }
    print_text(&commands(&url, &customer.key))?;
    if arguments.no_serve {
        return Ok(());
    }
    print_text("Serving; Ctrl-C ends it.")
}

fn print_datasets(offered: &[DemoDataset]) -> Result<(), Failure> {
    offered.iter().try_for_each(|dataset| {
        let made = if dataset.new { "made" } else { "found" };
        print_text(&format!(
            "{:24} {:>10} rows {:>12} bytes  {made}",
            dataset.slug, dataset.rows, dataset.bytes
        ))
    })
}

/// The address of the site, and how to sign in. A server that others reach tells no password.
fn entrance(url: &str, login: Option<&DemoAccount>) -> String {
    let signing_in = login.map(|login| {
        let (email, password) = (&login.email, &login.password);
        format!(
            "Sign in at {url}/account/sign-in as {email} with the password {password}.\n\
             Credits are bought there by a click; no money moves.\n"
        )
    });
    format!("The site:\n\n  {url}/\n\n{}", signing_in.unwrap_or_default())
}

/// An address that a client on this machine can reach.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => SocketAddr::from(([127, 0, 0, 1], v4.port())),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, v6.port()))
        }
        other => other,
    }
}

fn commands(url: &str, key: &str) -> String {
    let api = format!("{url}/api/v1/datasets");
    format!(
        "
What is there (no key needed):

  curl -s '{api}'
  curl -s '{api}/tpch-lineitem'
  curl -s '{api}/tpch-lineitem/schema'
  curl -s '{api}/tpch-orders/sample'
  curl -s '{api}/air-quality-daily?lang=it'
  curl -s '{api}/air-quality-daily/methodology' -H 'Accept: text/markdown'
  curl -s '{api}/valdoro-municipalities/related?limit=10'
  curl -s '{api}/relations/graph'

The newest heavy lines that went by air, as JSON; data.nextCursor goes back as \"cursor\" for the next page:

  curl -s '{api}/tpch-lineitem/query' -H 'X-Api-Key: {key}' -H 'Content-Type: application/json' \\
    -d '{{\"filters\":{{\"l_shipmode\":\"AIR\",\"l_quantity_min\":45}},\"sortBy\":\"l_shipdate\",\"sortDirection\":\"desc\",\"limit\":5}}'

The customers with the largest balance, as CSV:

  curl -s '{api}/tpch-customer/query' -H 'X-Api-Key: {key}' -H 'Content-Type: application/json' -H 'Accept: text/csv' \\
    -d '{{\"columns\":[\"c_name\",\"c_acctbal\",\"c_mktsegment\"],\"sortBy\":\"c_acctbal\",\"sortDirection\":\"desc\",\"limit\":10}}'

A thousand orders as server-sent events, and what all of it has cost:

  curl -sN '{api}/tpch-orders/query/stream' -H 'X-Api-Key: {key}' -H 'Content-Type: application/json' -d '{{\"limit\":1000}}'
  curl -s '{url}/api/v1/account' -H 'X-Api-Key: {key}'
"
    )
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.001..=100.0).contains(&scale) => Ok(scale),
        _ => Err("expected a number from 0.001 to 100".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_use_reachable_address() {
        assert_eq!(reachable(SocketAddr::from(([0, 0, 0, 0], 80))).to_string(), "127.0.0.1:80");
        assert_eq!(reachable(SocketAddr::from(([10, 0, 0, 1], 80))).to_string(), "10.0.0.1:80");
    }

    #[test]
    fn shows_password_on_loopback_only() {
        let text = |field: &str| field.to_owned();
        let (account, key, email, password) = (text("acc_1"), text("mk_1"), text("a@b.test"), text("secret"));
        let login = DemoAccount { account, key, email, password };
        let own = entrance("http://127.0.0.1:80", Some(&login));
        assert!(own.starts_with("The site:\n\n  http://127.0.0.1:80/\n") && own.contains("password secret."));
        assert_eq!(entrance("http://10.0.0.1:80", None), "The site:\n\n  http://10.0.0.1:80/\n\n");
        assert_eq!(payments(SocketAddr::from(([127, 0, 0, 1], 80))), "demo");
        assert_eq!(payments(SocketAddr::from(([0, 0, 0, 0], 80))), "none");
    }

    #[test]
    fn rejects_scale_out_of_bounds() {
        assert_eq!(parse_scale("0.1"), Ok(0.1));
        for wrong in ["0", "-1", "1000", "x", "NaN"] {
            assert!(parse_scale(wrong).is_err(), "{wrong}");
        }
    }
}
