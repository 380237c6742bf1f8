"""The dashboard in tmux: screens at two sizes compared with dashboard/*.txt, keys, and every way out leaves the terminal as it was.

    dashboard_test.py PLAYER MNIST [--update]

--update writes the screens that are expected anew, and the picture of the guide: look at them before they are committed.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PLAYER, MNIST = map(os.path.abspath, sys.argv[1:3])
UPDATE = "--update" in sys.argv
HERE = pathlib.Path(__file__).resolve().parent / "dashboard"
PICTURE = HERE.parents[2] / "sdk/guide/pictures/dashboard.svg"
SECONDS = 60  # to wait for what must come


def fail(words):
    sys.exit(f"dashboard_test: {words}")


class Terminal:
    """A shell in a tmux of its own."""

    def __init__(self, folder, columns=80, rows=24, locale="C.UTF-8", term="tmux-256color"):
        self.folder, self.socket = pathlib.Path(folder), f"burn-{os.getpid()}"
        self.tmux("kill-server", check=False)
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "PS1": "$ ", "BURN_THREADS": "1"}
        environment.pop("TMUX", None)
        for sanitizer in ("ASAN_OPTIONS", "TSAN_OPTIONS"):  # crashes as everywhere else; curses keeps memory until the end
            environment[sanitizer] = f"{os.environ.get(sanitizer, '')}:handle_segv=0:detect_leaks=0"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-s", "t",
                  f"cd '{folder}' && TERM={term} LC_ALL={locale} ENV= exec sh", environment=environment)
        self.type("stty -a >before; echo ready >shell")
        self.until(lambda: self.text("shell"), "no shell")

    def tmux(self, *arguments, check=True, environment=None):
        done = subprocess.run(["tmux", "-u", "-L", self.socket, *arguments], capture_output=True, text=True, env=environment)
        if check and done.returncode:
            fail(f"tmux {arguments}: {done.stderr}")
        return done.stdout

    def type(self, line):
        self.tmux("send-keys", "-t", "t", "-l", line)
        self.tmux("send-keys", "-t", "t", "Enter")

    def key(self, *names):
        self.tmux("send-keys", "-t", "t", *names)

    def screen(self, *options):
        return "\n".join(line.rstrip() for line in self.tmux("capture-pane", "-t", "t", "-p", *options).split("\n")).rstrip("\n")

    def ask(self, what):
        return self.tmux("display-message", "-t", "t", "-p", what).strip()

    def text(self, name):
        path = self.folder / name
        return re.sub(r"rows \d+; columns \d+;", "", path.read_text()) if path.exists() else ""  # the test itself changes the size

    def until(self, holds, words):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if holds():
                return
            time.sleep(0.05)
        fail(f"{words}; the screen is\n{self.screen()}")

    def shows(self, part):
        self.until(lambda: part in self.screen(), f"'{part}' does not show")

    def order(self, word):
        (self.folder / "orders.new").write_text(word)
        (self.folder / "orders.new").rename(self.folder / "orders")

    def start(self, command):
        (self.folder / "status").unlink(missing_ok=True)
        self.tmux("clear-history", "-t", "t")
        self.type(f"clear; {command}; echo status $? >status; stty -a >after")

    def play(self, *arguments):
        self.start(" ".join(["sh -c 'echo $$ >pid; exec \"$0\" \"$@\"'", PLAYER, "orders", *arguments]))
        self.until(lambda: all(part in self.screen() for part in ("burn player:", "a warning in r")), "it does not begin")

    def signal(self, name):
        os.kill(int(self.text("pid")), getattr(signal, "SIG" + name))

    def ends(self, status, part):
        """The program has ended so, and has left no trace but its lines."""
        self.until(lambda: self.text("status"), "it does not end")
        self.until(lambda: self.text("after"), "no shell after it")
        if self.text("status") != f"status {status}\n":
            fail(f"{self.text('status').strip()}, {status} expected; the screen is\n{self.screen()}")
        if self.text("after") != self.text("before"):
            fail(f"stty before:\n{self.text('before')}after:\n{self.text('after')}")
        if self.ask("#{alternate_on} #{cursor_flag} #{keypad_cursor_flag} #{keypad_flag}") != "0 1 0 0":
            fail(f"the terminal is left in another mode: {self.ask('#{alternate_on} #{cursor_flag} #{keypad_cursor_flag} #{keypad_flag}')}")
        self.shows(part)
        (self.folder / "after").unlink()


def expect(terminal, name):
    path = HERE / f"{name}.txt"
    if UPDATE:
        time.sleep(1.5)
        path.write_text(terminal.screen() + "\n")
        return
    expected = path.read_text().rstrip("\n")
    terminal.until(lambda: terminal.screen() == expected, f"{path} is not what shows, but\n{expected}")


COLOURS = {"31": "#d9534a", "33": "#c9a227", "34": "#3f7fdb", "36": "#2aa198", "": "#1d2129"}


def picture(terminal):
    """The screen as SVG: each line in runs of one colour, stretched over their columns."""
    wide, high, parts = 8, 17, []
    for row, line in enumerate(terminal.tmux("capture-pane", "-t", "t", "-p", "-e").rstrip("\n").split("\n")):
        column, colour, bold = 0, "", False
        for codes, text in re.findall(r"\x1b\[([\d;]*)m|([^\x1b]+)", line.replace("\x0e", "").replace("\x0f", "")):
            for code in codes.split(";") if not text else ():
                bold = code == "1" or (bold and code not in ("", "0", "22"))
                colour = code if code in COLOURS and code else "" if code in ("", "0", "39") else colour
            if text.strip():
                shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace(" ", "\u00a0")
                weight = ' font-weight="bold"' if bold else ""
                parts.append(f'<text x="{8 + wide * column}" y="{high * (row + 1)}" textLength="{wide * len(text)}" '
                             f'lengthAdjust="spacingAndGlyphs" fill="{COLOURS[colour]}"{weight}>{shown}</text>')
            column += len(text)
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {80 * wide + 16} {24 * high + 12}" width="{80 * wide + 16}">\n'
            f'<rect width="100%" height="100%" rx="6" fill="#fdfdfb"/>\n<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" '
            f'font-size="13">\n{body}\n</g></svg>\n')


def expect_picture(terminal):
    if UPDATE:
        PICTURE.write_text(picture(terminal))
    if picture(terminal) != PICTURE.read_text():
        fail(f"{PICTURE} is not what shows; --update writes it")


def screens(folder):
    terminal = Terminal(folder)
    terminal.play()
    expect(terminal, "80x24")
    expect_picture(terminal)
    terminal.key("Right")
    terminal.key("Down")
    expect(terminal, "80x24-accuracy-lately")
    terminal.key("Down")
    terminal.key("s")
    expect(terminal, "80x24-accuracy-epochs-train")
    terminal.key("h")
    expect(terminal, "80x24-help")
    terminal.key("x", "Left", "Down", "s", "s")
    expect(terminal, "80x24")
    terminal.tmux("resize-window", "-t", "t", "-x", "200", "-y", "50")
    expect(terminal, "200x50")
    terminal.tmux("resize-window", "-t", "t", "-x", "60", "-y", "20")
    terminal.shows("60x20 is small: 80x24 at least")
    terminal.tmux("resize-window", "-t", "t", "-x", "80", "-y", "24")
    expect(terminal, "80x24")
    terminal.order("more")
    terminal.shows("batch 11/40")
    terminal.order("valid")
    terminal.shows("validation batch 3/10")
    terminal.key("q")
    terminal.shows("s  end the run after the step that runs, with a checkpoint")
    terminal.key("c")
    terminal.until(lambda: "end the run?" not in terminal.screen(), "the question stays")
    terminal.key("q")
    terminal.shows("end the run?")
    terminal.key("s")
    terminal.ends(128, "error: the run is not complete")


def ascii_only(folder):
    terminal = Terminal(folder, locale="C", term="vt100")
    terminal.play()
    expect(terminal, "80x24-ascii")
    if not terminal.screen().isascii():
        fail("a locale without UTF-8 gets other characters")
    terminal.order("end")
    terminal.ends(0, "epoch 3/10  train loss")


def ways_out(folder):
    """Status of the shell, and what it must show after it."""
    terminal = Terminal(folder)
    for word, status, part in [("end", 0, "epoch 3/10  train loss 0.2261"), ("fail", 1, "error: the run is not complete"),
                               ("exit", 3, "a line on stdout"), ("crash", 139, "a line on stdout"), ("abort", 134, "the last words"),
                               ("throw", 131, "a line on stdout")]:
        terminal.play()
        terminal.order(word)
        terminal.ends(status, part)
    for name, status in [("INT", 130), ("TERM", 143), ("HUP", 129)]:
        terminal.play()
        terminal.signal(name)
        terminal.ends(status, "epoch 3/10  train loss")
    terminal.play()
    terminal.key("C-c")
    terminal.ends(130, "error: the run is not complete")


def stop_and_go_on(folder):
    terminal = Terminal(folder)
    terminal.type("set -m")
    terminal.play()
    terminal.key("C-z")
    terminal.until(lambda: terminal.text("after"), "Ctrl-Z does not stop it")
    if terminal.ask("#{alternate_on} #{cursor_flag}") != "0 1" or terminal.text("after") != terminal.text("before"):
        fail("Ctrl-Z leaves the terminal to the dashboard")
    (folder / "after").unlink()
    terminal.type("fg; echo status $? >status; stty -a >after")
    expect(terminal, "80x24")
    terminal.order("end")
    terminal.ends(0, "epoch 3/10  train loss")


def no_terminal(folder):
    """Lines where stderr is a file, where TERM knows no cursor, and in the background; none wider than the screen."""
    terminal = Terminal(folder)
    terminal.start(f"{PLAYER} orders 2>lines")
    terminal.until(lambda: "a warning" in terminal.text("lines"), "no lines in a file")
    lines = terminal.text("lines").splitlines()
    assert len([line for line in lines if line.startswith("epoch 3/10 batch")]) == 10, lines
    assert max(map(len, lines)) <= 79 and "epoch 3/10  train loss 0.2261" in terminal.text("lines"), lines
    terminal.order("end")
    terminal.ends(0, "a line on stdout")
    terminal.tmux("resize-window", "-t", "t", "-x", "50", "-y", "24")
    terminal.start(f"TERM=dumb {PLAYER} orders")
    terminal.shows("a warning")
    progress = re.findall(r"^epoch .*?(?:items/s|$)", terminal.screen(), re.MULTILINE)
    if len(progress) != 4 or max(map(len, progress)) >= 50:
        fail(f"a line of progress is wider than the terminal:\n{terminal.screen()}")
    terminal.order("end")
    terminal.ends(0, "epoch 3/10  train loss")


def real_runs(folder):
    """mnist: Ctrl-C and a step that fails; without the dashboard no screen is taken."""
    terminal = Terminal(folder)
    mnist = f"{MNIST} --artifact run --train-items 512 --test-items 64 --show 0"
    terminal.start(f"{mnist} --epochs 5000")
    terminal.shows("burn mnist:")
    terminal.shows("batch ")
    terminal.key("C-c")
    terminal.ends(130, "go on with:")
    terminal.start(f"{mnist} --epochs 50 --lr 1e30")
    terminal.ends(1, "; try a smaller")
    terminal.start(f"{mnist} --epochs 2 --no-dashboard")
    terminal.ends(0, "epoch 2/2  train loss")
    if re.search("[\u2500-\u28ff]", terminal.screen("-S", "-")):
        fail("--no-dashboard draws")


def main():
    if not shutil.which("tmux"):
        print("skipped: there is no tmux")
        sys.exit(77)
    try:
        for end in os.openpty():
            os.close(end)
    except OSError as error:
        print(f"skipped: this machine gives no terminals: {error}")
        sys.exit(77)
    for case in (screens, ascii_only, ways_out, stop_and_go_on, no_terminal, real_runs):
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(pathlib.Path(folder))
            finally:
                subprocess.run(["tmux", "-L", f"burn-{os.getpid()}", "kill-server"], capture_output=True)
        print(f"dashboard_test: {case.__name__}")


main()
