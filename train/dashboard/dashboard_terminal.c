/* dashboard_terminal.c - takes the terminal, and gives it back whatever happens.
 *
 * curses would give it back at endwin only, and may not be called in a signal handler. So what it does to the terminal
 * is done here as well, by what a handler may use: two texts for write, the modes for tcsetattr, dup2 for the streams
 * that were captured. Every way back goes through dashboard_terminal_restore. Signals that end a process get a handler
 * which calls it and then does what was to be done before; SIGINT, SIGTERM and SIGTSTP may leave the process alive, and
 * then the thread that draws takes the terminal again. curses' own handlers are taken out at once. */
#include "dashboard_internal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <burn/streams.h>

enum { CONTROL_BYTES = 512, CAPTURED = 2, KEPT_BYTES = 1 << 16 };

typedef struct Control {
  char text[CONTROL_BYTES];
  size_t length;
} Control;

static struct {
  atomic_int held;    /* the terminal is ours: whoever sets it to 0 gives it back */
  atomic_int again;   /* a signal has given it back, and the process goes on */
  atomic_int drawing; /* the screen is being written to */
  pthread_t thread;   /* that draws */
  SCREEN *screen;
  FILE *input, *output;
  int tty; /* of output */
  struct termios before, ours;
  Control enter, leave;
  int pipe[2];             /* what was written to the captured streams */
  int originals[CAPTURED]; /* what stdout and stderr are; -1: not captured */
  char kept[KEPT_BYTES];   /* the end of what was captured since the terminal was taken: it is printed after that */
  size_t kept_bytes;
} t = {.tty = -1, .pipe = {-1, -1}, .originals = {-1, -1}};

/* -- what a signal handler may do ------------------------------------------------------------- */

static void write_all(const char *text, size_t length) {
  while (length > 0) {
    const ssize_t written = write(t.tty, text, length);
    if (written < 0 && errno != EINTR) return;
    if (written <= 0) continue;
    text += written;
    length -= (size_t)written;
  }
}

/* Waits until the thread that draws is between two pictures: not without a limit, as it may be the one that was hit. */
static void wait_for_drawing(void) {
  const struct timespec moment = {0, 2000000};
  if (pthread_equal(pthread_self(), t.thread)) return;
  for (int i = 0; i < 100 && atomic_load(&t.drawing); i++) (void)nanosleep(&moment, NULL);
}

/* What the screen had of it is gone with the screen. */
static void print_captured(void) {
  char text[512];
  ssize_t count;
  write_all(t.kept, t.kept_bytes);
  t.kept_bytes = 0;
  while ((count = read(t.pipe[0], text, sizeof text)) > 0) write_all(text, (size_t)count);
}

void dashboard_terminal_restore(void) {
  const int error = errno;
  if (!atomic_exchange(&t.held, 0)) return;
  wait_for_drawing();
  for (int i = 0; i < CAPTURED; i++) {
    if (t.originals[i] >= 0) (void)dup2(t.originals[i], i + 1);
  }
  write_all(t.leave.text, t.leave.length);
  (void)tcsetattr(t.tty, TCSANOW, &t.before);
  print_captured();
  errno = error;
}

/* -- signals ---------------------------------------------------------------------------------- */

/* Those that end a process, and the three that somebody may live through. */
static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,  SIGABRT,
                                    SIGQUIT, SIGHUP, SIGSYS, SIGPIPE, SIGXCPU};
static const int other_signals[] = {SIGINT, SIGTERM, SIGTSTP};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof *fatal_signals, OTHER_SIGNALS = 3 };
static struct sigaction fatal_before[FATAL_SIGNALS], other_before[OTHER_SIGNALS];
static bool fatal_caught[FATAL_SIGNALS], other_caught[OTHER_SIGNALS];

static void on_fatal(int number) {
  dashboard_terminal_restore();
  for (int i = 0; i < FATAL_SIGNALS; i++) {
    if (fatal_signals[i] == number) (void)sigaction(number, &fatal_before[i], NULL);
  }
  (void)raise(number); /* comes when this handler returns, to whoever had it before, a sanitizer for example */
}

/* What the process does of itself on such a signal, now. */
static void do_default(int number) {
  sigset_t set;
  if (number == SIGTSTP) {
    (void)raise(SIGSTOP);
    return;
  }
  struct sigaction action = {.sa_flags = 0};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  (void)sigaction(number, &action, NULL);
  (void)raise(number);
  sigemptyset(&set);
  sigaddset(&set, number);
  (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void on_other(int number, siginfo_t *info, void *context) {
  const int error = errno;
  dashboard_terminal_restore();
  for (int i = 0; i < OTHER_SIGNALS; i++) {
    if (other_signals[i] != number) continue;
    const struct sigaction *before = &other_before[i];
    if (before->sa_flags & SA_SIGINFO) {
      before->sa_sigaction(number, info, context);
    } else if (before->sa_handler != SIG_DFL) {
      before->sa_handler(number);
    } else {
      do_default(number);
    }
  }
  atomic_store(&t.again, 1);
  errno = error;
}

static bool is_ignored(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_IGN;
}

static void signals_catch(void) {
  struct sigaction fatal = {.sa_flags = SA_ONSTACK}, other = {.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK};
  fatal.sa_handler = on_fatal;
  other.sa_sigaction = on_other;
  sigemptyset(&fatal.sa_mask);
  sigemptyset(&other.sa_mask);
  for (int i = 0; i < FATAL_SIGNALS; i++) {
    fatal_caught[i] = sigaction(fatal_signals[i], NULL, &fatal_before[i]) == 0 && !is_ignored(&fatal_before[i]) &&
                      sigaction(fatal_signals[i], &fatal, NULL) == 0;
  }
  for (int i = 0; i < OTHER_SIGNALS; i++) {
    other_caught[i] = sigaction(other_signals[i], NULL, &other_before[i]) == 0 && !is_ignored(&other_before[i]) &&
                      sigaction(other_signals[i], &other, NULL) == 0;
  }
}

static void signals_release(void) {
  for (int i = 0; i < FATAL_SIGNALS; i++) {
    if (fatal_caught[i]) (void)sigaction(fatal_signals[i], &fatal_before[i], NULL);
  }
  for (int i = 0; i < OTHER_SIGNALS; i++) {
    if (other_caught[i]) (void)sigaction(other_signals[i], &other_before[i], NULL);
  }
}

/* -- curses ----------------------------------------------------------------------------------- */

/* Adds a capability without its padding, "$<5>". */
static void add_capability(Control *control, const char *name) {
  const char *text = tigetstr(name);
  if (!text || text == (const char *)-1) return;
  while (*text && control->length + 1 < CONTROL_BYTES) {
    const char *padding = strncmp(text, "$<", 2) == 0 ? strchr(text, '>') : NULL;
    if (padding) {
      text = padding + 1;
    } else {
      control->text[control->length++] = *text++;
    }
  }
}

static void find_controls(void) {
  static const char *const entering[] = {"smcup", "smkx", "civis"}, *const leaving[] = {"sgr0", "op", "clear"};
  static const char *const last[] = {"rmkx", "cnorm", "rmcup"};
  const char *smcup = tigetstr("smcup");
  const bool other_screen = smcup && smcup != (const char *)-1;
  t.enter.length = t.leave.length = 0;
  for (int i = 0; i < 3; i++) add_capability(&t.enter, entering[i]);
  for (int i = 0; i < (other_screen ? 2 : 3); i++) add_capability(&t.leave, leaving[i]);
  for (int i = 0; i < 3; i++) add_capability(&t.leave, last[i]);
}

static bool in_foreground(void) { return tcgetpgrp(t.tty) == getpgrp(); }

/* Both streams as files of their own, as the process' may be captured. */
static bool open_streams(void) {
  burn_streams_pin();
  const int out = isatty(STDERR_FILENO) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
  const int in = isatty(STDIN_FILENO) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open("/dev/tty", O_RDWR | O_CLOEXEC);
  t.output = out >= 0 ? fdopen(out, "w") : NULL;
  t.input = in >= 0 ? fdopen(in, "r") : NULL;
  t.tty = out;
  return t.output && t.input && in_foreground() && tcgetattr(out, &t.before) == 0;
}

static void close_streams(void) {
  if (t.output) (void)fclose(t.output);
  if (t.input) (void)fclose(t.input);
  t.output = t.input = NULL;
  t.tty = -1;
}

/* curses' handlers of signals are not wanted; nor are those of newterm in between. */
static SCREEN *new_screen(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH, SIGTTOU};
  enum { NUMBERS = sizeof numbers / sizeof *numbers };
  struct sigaction before[NUMBERS];
  for (int i = 0; i < NUMBERS; i++) (void)sigaction(numbers[i], NULL, &before[i]);
  SCREEN *screen = newterm(NULL, t.output, t.input);
  for (int i = 0; i < NUMBERS; i++) (void)sigaction(numbers[i], &before[i], NULL);
  return screen;
}

static bool start_curses(void) {
  t.screen = new_screen();
  if (!t.screen) return false;
  const char *cup = tigetstr("cup");
  if (!cup || cup == (const char *)-1) return false;
  (void)use_legacy_coding(0); /* newterm has looked at the locale of the process, not at that of the thread */
  (void)cbreak();
  (void)noecho();
  (void)nonl();
  (void)intrflush(stdscr, FALSE);
  (void)keypad(stdscr, TRUE);
  (void)nodelay(stdscr, TRUE);
  (void)curs_set(0);
  set_escdelay(25);
  find_controls();
  return tcgetattr(t.tty, &t.ours) == 0;
}

/* -- captured streams ------------------------------------------------------------------------- */

static bool same_terminal(int file) {
  char name[128], ours[128];
  return isatty(file) && ttyname_r(file, name, sizeof name) == 0 && ttyname_r(t.tty, ours, sizeof ours) == 0 &&
         strcmp(name, ours) == 0;
}

static void capture(void) {
  (void)fflush(stdout);
  for (int i = 0; i < CAPTURED; i++) {
    if (t.originals[i] >= 0) (void)dup2(t.pipe[1], i + 1);
  }
}

static bool make_pipe(void) {
  if (pipe(t.pipe) != 0) return false;
  for (int i = 0; i < 2; i++) (void)fcntl(t.pipe[i], F_SETFD, FD_CLOEXEC);
  (void)fcntl(t.pipe[0], F_SETFL, O_NONBLOCK);
  for (int i = 0; i < CAPTURED; i++) {
    t.originals[i] = same_terminal(i + 1) ? fcntl(i + 1, F_DUPFD_CLOEXEC, 3) : -1;
  }
  return true;
}

static void close_pipe(void) {
  for (int i = 0; i < 2; i++) {
    if (t.pipe[i] >= 0) (void)close(t.pipe[i]);
    t.pipe[i] = -1;
    if (t.originals[i] >= 0) (void)close(t.originals[i]);
    t.originals[i] = -1;
  }
}

/* Keeps the last bytes. */
static void keep(const char *text, size_t count) {
  if (t.kept_bytes + count > KEPT_BYTES) {
    const size_t gone = KEPT_BYTES / 2 > count ? KEPT_BYTES / 2 : count;
    const size_t left = t.kept_bytes > gone ? t.kept_bytes - gone : 0;
    memmove(t.kept, t.kept + (t.kept_bytes - left), left);
    t.kept_bytes = left;
  }
  memcpy(t.kept + t.kept_bytes, text, count);
  t.kept_bytes += count;
}

size_t dashboard_terminal_captured(char *text, size_t bytes) {
  if (!dashboard_terminal_draw_begin()) return 0;
  const ssize_t count = read(t.pipe[0], text, bytes < KEPT_BYTES / 2 ? bytes : KEPT_BYTES / 2);
  if (count > 0) keep(text, (size_t)count);
  dashboard_terminal_draw_end();
  return count > 0 ? (size_t)count : 0;
}

/* -- take and give back ----------------------------------------------------------------------- */

static void at_exit(void) { dashboard_terminal_restore(); }

bool dashboard_terminal_take(void) {
  static bool registered;
  t.thread = pthread_self();
  atomic_store(&t.again, 0);
  if (!registered) registered = atexit(at_exit) == 0;
  t.kept_bytes = t.enter.length = t.leave.length = 0;
  if (!registered || !open_streams() || !make_pipe()) {
    dashboard_terminal_end();
    return false;
  }
  signals_catch();
  atomic_store(&t.drawing, 1); /* a signal waits until it is taken */
  atomic_store(&t.held, 1);
  const bool started = start_curses();
  if (started) capture();
  dashboard_terminal_draw_end();
  if (started) return true;
  dashboard_terminal_restore();
  dashboard_terminal_end();
  return false;
}

bool dashboard_terminal_resume(void) {
  if (!atomic_load(&t.again) || !in_foreground()) return false;
  atomic_store(&t.again, 0);
  (void)tcgetattr(t.tty, &t.before); /* whoever had the terminal may have changed it */
  atomic_store(&t.drawing, 1);
  atomic_store(&t.held, 1);
  (void)tcsetattr(t.tty, TCSANOW, &t.ours);
  write_all(t.enter.text, t.enter.length);
  (void)clearok(curscr, TRUE);
  capture();
  dashboard_terminal_draw_end();
  return true;
}

bool dashboard_terminal_draw_begin(void) {
  atomic_store(&t.drawing, 1);
  if (atomic_load(&t.held)) return true;
  atomic_store(&t.drawing, 0);
  return false;
}

void dashboard_terminal_draw_end(void) { atomic_store(&t.drawing, 0); }

void dashboard_terminal_end(void) {
  signals_release();
  memset(fatal_caught, 0, sizeof fatal_caught);
  memset(other_caught, 0, sizeof other_caught);
  if (t.screen) delscreen(t.screen);
  t.screen = NULL;
  close_pipe();
  close_streams();
}

/* -- events ----------------------------------------------------------------------------------- */

void dashboard_terminal_wait(int milliseconds) {
  struct pollfd files[] = {{.fd = fileno(t.input), .events = POLLIN}, {.fd = t.pipe[0], .events = POLLIN}};
  const bool held = atomic_load(&t.held);
  (void)poll(files, held ? 2 : 0, milliseconds); /* keys are somebody else's while the terminal is */
  if (files[0].revents & (POLLHUP | POLLERR | POLLNVAL)) (void)poll(NULL, 0, milliseconds);
}

bool dashboard_terminal_resize(void) {
  struct winsize size;
  if (ioctl(t.tty, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return false;
  if (size.ws_row == LINES && size.ws_col == COLS) return false;
  (void)resizeterm(size.ws_row, size.ws_col);
  (void)clearok(curscr, TRUE);
  return true;
}
