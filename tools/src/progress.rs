//! Progress bars on stderr, only if it is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::convert::isolation::channel;

/// A progress bar for `total` of `unit` under `label`. It is hidden when stderr is not a terminal.
#[must_use]
pub fn bar(label: &str, total: u64, unit: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(total), target).with_message(label.to_owned());
    let template = format!("{{msg:28}} {{bar:30}} {{human_pos}}/{{human_len}} {unit} {{per_sec}} {{eta}}");
    let bar = match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    channel::show_bar(label, total, unit, &bar);
    bar
}
