//! `asb` on a terminal: shells that are typed into, sizes, Ctrl-C as a key.

use anyhow::Result;

use crate::stage::{BUSYBOX, Stage};
use crate::terminal::Terminal;

#[tokio::test]
async fn a_shell_has_the_terminals_size_and_takes_its_keys() -> Result<()> {
    let stage = Stage::set().await?;
    stage.idle("box").await?;
    let mut terminal = Terminal::open(&stage, &["shell", "box"])?;
    terminal.shows("# ").await?;
    terminal.enter("stty size")?;
    terminal.shows("40 100").await?;
    terminal.resize(90, 30)?;
    terminal.enter("until stty size | grep '^30 90'; do sleep 0.1; done")?;
    terminal.shows("\n30 90").await?;
    // Until the command runs the shell reads keys as they are, this one too.
    terminal.enter("echo begun; sleep 600")?;
    terminal.shows("\nbegun").await?;
    terminal.press(b"\x03")?;
    terminal.shows("^C").await?;
    terminal.enter("echo $((6*7)); exit 5")?;
    terminal.shows("42\r\n").await?;
    assert_eq!(terminal.code().await?, Some(5));
    stage.finish().await
}

#[tokio::test]
async fn a_run_with_a_terminal_is_one_with_its_command() -> Result<()> {
    let stage = Stage::set().await?;
    let mut terminal = Terminal::open(&stage, &["run", "--rm", "-it", "--image", BUSYBOX, "--", "sh"])?;
    terminal.shows("built-in shell").await?;
    terminal.enter("")?;
    terminal.shows("# ").await?;
    terminal.enter("tty && stty size")?;
    terminal.shows("/dev/pts/").await?;
    terminal.shows("40 100").await?;
    terminal.enter("exit 9")?;
    assert_eq!(terminal.code().await?, Some(9));
    stage.finish().await
}

#[tokio::test]
async fn progress_is_shown_on_a_terminal_and_wiped_from_it() -> Result<()> {
    let stage = Stage::set().await?;
    let mut terminal = Terminal::open(&stage, &["run", "--rm", "--image", BUSYBOX, "--", "echo", "done"])?;
    terminal.shows("done\r\n").await?;
    assert_eq!(terminal.code().await?, Some(0));
    let screen = terminal.screen();
    let (before, _) = screen.split_once("done\r\n").unwrap_or_default();
    assert!(before.contains(" …") && before.ends_with("\r\x1b[2K"), "{screen:?}");
    stage.finish().await
}
