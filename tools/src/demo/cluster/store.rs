//! Object storage of the cluster: `rclone serve s3` over a folder. Does not depend on what is stored.

use std::fs;
use std::path::Path;

use mercato_catalog::objects::{ObjectStore, StoreAddress};

use super::Bench;
use super::database::Database;
use super::part::{Ending, Launch, Part, accepts, free_port, words};
use crate::failure::Failure;

/// The place of the versions.
pub(super) const URL: &str = "s3://mercato/demo";
/// File of a shell with the variables of the store and of the books.
pub(super) const ENVIRONMENT: &str = "environment";
const BUCKET: &str = "mercato";
/// Keeps nobody on this machine away, like the database.
const KEY: &str = "mercato-demo";
const SECRET: &str = "mercato-demo-secret";

pub(super) struct Store {
    pub(super) part: Part,
}

impl Store {
    pub(super) fn start(bench: &Bench<'_>) -> Result<Store, Failure> {
        let folder = bench.folder.join("store");
        let objects = folder.join("objects");
        // A folder is a bucket.
        let bucket = objects.join(BUCKET);
        fs::create_dir_all(&bucket).map_err(Failure::io(&bucket, "create"))?;
        let port = free_port()?;
        let mut arguments = words([&"serve", &"s3", &"--config", &"/dev/null"]);
        arguments.extend(words([&"--addr", &format!("127.0.0.1:{port}")]));
        arguments.extend(words([&"--auth-key", &format!("{KEY},{SECRET}"), &"--vfs-cache-mode", &"off"]));
        arguments.push(objects.into_os_string());
        let launch = Launch {
            name: "store",
            program: &bench.programs.rclone,
            arguments,
            folder,
            variables: Vec::new(),
            ending: Ending::Terminate,
            owner: None,
        };
        let mut part = launch.start(bench, port)?;
        part.wait_until(bench, || accepts(port))?;
        Ok(Store { part })
    }

    /// What a program finds it by.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.part.port)),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    pub(super) fn open(&self) -> Result<ObjectStore, Failure> {
        let variables = self.variables();
        let look_up =
            |wanted: &str| variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone());
        let address = StoreAddress::parse(URL, look_up);
        Ok(ObjectStore::open(address.map_err(|error| Failure::Cluster(error.to_string()))?))
    }

    /// Writes the file that a shell reads before commands for this cluster.
    pub(super) fn write_environment(&self, bench: &Bench<'_>, database: &Database) -> Result<(), Failure> {
        let mut lines: Vec<String> =
            self.variables().iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        lines.push(format!("export STORE='{URL}'\nexport BOOKS='{}'\n", database.url()));
        // Others in the place of these would win.
        lines.push(
            "unset AWS_ENDPOINT_URL_S3 AWS_SESSION_TOKEN AWS_PROFILE PGPASSWORD PGPASSFILE\n".to_owned(),
        );
        let path = bench.folder.join(Path::new(ENVIRONMENT));
        fs::write(&path, lines.concat()).map_err(Failure::io(&path, "write"))
    }
}
