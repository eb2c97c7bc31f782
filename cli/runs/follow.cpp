#include "cli/runs/follow.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "cli/options/limits.h"

namespace robustrun::cli {

using supervisor::OutputNews;
using supervisor::OutputPiece;

base::Result<SignalReader> SignalReader::open(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  base::Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd || ::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) {
    return base::fail_errno("cannot wait for signals", errno);
  }
  return SignalReader(std::move(fd));
}

int SignalReader::take() const {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                              : 0;
}

Follower::Follower(supervisor::ControlClient& client, const SignalReader& signals,
                   std::uint64_t lines)
    : client_(client), signals_(signals) {
  client_.interrupt_by(signals_.fd());
  question_.lines = lines;
}

Followed Follower::follow(bool until_up) {
  question_.wait = until_up ? base::Nanos(kFollowWaitForStart) : base::Nanos(kFollowWait);
  client_.wait_at_most(question_.wait + kSupervisorAnswerMax);
  Followed followed;
  for (;;) {
    auto fields = client_.ask(supervisor::to_fields(question_));
    auto news = fields ? supervisor::read_output_news(*fields)
                       : base::Result<OutputNews>(std::unexpected(fields.error()));
    if (!news) {
      followed.end = news.error().code == base::Errc::kCancelled ? Followed::End::kInterrupted
                                                                 : Followed::End::kLost;
      followed.error = news.error();
      return followed;
    }
    question_.from = news->output.position;
    question_.watcher = news->output.watcher;
    if (!show(*news, until_up, followed)) return followed;
    if (news->exit_code) {
      followed.end = Followed::End::kRunEnded;
      followed.exit_code = *news->exit_code;
      return followed;
    }
    if (until_up && news->up) {
      if (in_line_) static_cast<void>(write(STDERR_FILENO, "\n", followed));
      followed.end = Followed::End::kUp;
      return followed;
    }
  }
}

bool Follower::show(const OutputNews& news, bool all_on_stderr, Followed& followed) {
  if (news.output.dropped > 0) {
    const std::string note =
        fmt::format("robustrun: {} bytes of output are missing here: the reader was too slow\n",
                    news.output.dropped);
    if (!write(STDERR_FILENO, note, followed)) return false;
  }
  std::string_view rest = news.output.bytes;
  for (const OutputPiece& piece : news.output.pieces) {
    const int fd = piece.is_stderr || all_on_stderr ? STDERR_FILENO : STDOUT_FILENO;
    if (!write(fd, rest.substr(0, piece.bytes), followed)) return false;
    rest.remove_prefix(piece.bytes);
  }
  if (!news.output.bytes.empty()) in_line_ = !news.output.bytes.ends_with('\n');
  return true;
}

// A stopped terminal must not block signals.
bool Follower::write(int fd, std::string_view bytes, Followed& followed) {
  while (!bytes.empty()) {
    pollfd watched[2] = {{fd, POLLOUT, 0}, {signals_.fd(), POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) {
      followed.end = Followed::End::kInterrupted;
      return false;
    }
    const ssize_t written =
        ::write(fd, bytes.data(), std::min(bytes.size(), std::size_t{PIPE_BUF}));
    if (written < 0 && errno != EINTR && errno != EAGAIN) {
      followed.end = Followed::End::kReaderGone;
      return false;
    }
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace robustrun::cli
