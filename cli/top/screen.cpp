#include "cli/top/screen.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>

namespace robustrun::cli {
namespace {

// Alternate screen, no wrap at the last column, no cursor, clear.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr auto kFatalSignals = std::to_array<int>({SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL});
constexpr int kColumnsMax = 1000;
constexpr int kRowsMax = 500;

// For the handler of fatal signals.
int terminal_fd = -1;
termios terminal_before;

void restore_terminal() {
  if (terminal_fd < 0) return;
  static_cast<void>(!::write(terminal_fd, kLeave.data(), kLeave.size()));
  ::tcsetattr(terminal_fd, TCSANOW, &terminal_before);
  terminal_fd = -1;
}

void on_fatal_signal(int signal) {
  restore_terminal();
  ::raise(signal);  // whose handler has been reset
}

// An open file description of its own: what is set on it does not touch the shell's.
base::Fd open_terminal(int flags) {
  base::Fd terminal(::open("/dev/tty", flags | O_CLOEXEC | O_NOCTTY));
  if (!terminal) terminal = base::Fd(::open("/proc/self/fd/1", flags | O_CLOEXEC | O_NOCTTY));
  return terminal && ::isatty(terminal.get()) == 1 ? std::move(terminal) : base::Fd();
}

}  // namespace

Screen::~Screen() {
  restore_terminal();
  for (const int signal : kFatalSignals) ::signal(signal, SIG_DFL);
}

base::Status Screen::enter() {
  if (::tcgetattr(output_.get(), &terminal_before) != 0) {
    return base::fail_errno("cannot read the terminal's settings", errno);
  }
  terminal_fd = output_.get();
  struct sigaction action{};
  action.sa_handler = on_fatal_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kFatalSignals) ::sigaction(signal, &action, nullptr);
  termios raw = terminal_before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL | INLCR);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(output_.get(), TCSANOW, &raw) != 0) {
    return base::fail_errno("cannot change the terminal's settings", errno);
  }
  return base::write_all(output_.get(), kEnter);
}

Size Screen::size() const {
  winsize window{};
  if (::ioctl(output_.get(), TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
  return {std::min<int>(window.ws_col, kColumnsMax), std::min<int>(window.ws_row, kRowsMax)};
}

void Screen::show(Canvas canvas) {
  std::string bytes;
  if (!shown_ || shown_->size() != canvas.size()) {
    shown_.reset();
    bytes += "\x1b[0m\x1b[2J";
  }
  for (int row = 0; row < canvas.size().rows; ++row) {
    if (shown_ && shown_->same_row(canvas, row)) continue;
    bytes += fmt::format("\x1b[{};1H{}", row + 1, canvas.ansi(row, colour_));
  }
  if (!bytes.empty()) static_cast<void>(base::write_all(output_.get(), bytes));
  shown_ = std::move(canvas);
}

base::Result<std::unique_ptr<Screen>> Screen::open(bool colour) {
  base::Fd output = open_terminal(O_WRONLY);
  base::Fd keys = open_terminal(O_RDONLY | O_NONBLOCK);
  if (!output || !keys) {
    return base::fail(base::Errc::kUnavailable, "this process has no terminal");
  }
  std::unique_ptr<Screen> screen(new Screen(std::move(output), std::move(keys), colour));
  RR_TRY(screen->enter());
  return screen;
}

}  // namespace robustrun::cli
