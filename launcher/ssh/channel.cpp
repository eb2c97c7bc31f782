#include "launcher/ssh/channel.h"

#include <libssh2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "launcher/limits.h"

namespace robustrun::launcher {
namespace {

constexpr std::size_t kReadBytes = 32 << 10;

bool waits_to_send(LIBSSH2_SESSION* session) {
  return (libssh2_session_block_directions(session) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

// SSH names signals without "SIG" (RFC 4254, 6.10).
base::ExitStatus read_status(LIBSSH2_SESSION* session, LIBSSH2_CHANNEL* channel) {
  char* name = nullptr;
  std::size_t size = 0;
  libssh2_channel_get_exit_signal(channel, &name, &size, nullptr, nullptr, nullptr, nullptr);
  if (name == nullptr) {
    return {base::ExitStatus::Kind::kExited, libssh2_channel_get_exit_status(channel), false};
  }
  const int signal = base::signal_number("SIG" + std::string(name, size));
  libssh2_free(session, name);
  return {base::ExitStatus::Kind::kSignaled, signal, false};
}

}  // namespace

SshChannel::SshChannel(LIBSSH2_SESSION* session, SshCommand command,
                       std::function<void(std::string_view)> on_output,
                       std::function<bool()> still_wanted)
    : session_(session),
      command_(std::move(command)),
      on_output_(std::move(on_output)),
      still_wanted_(std::move(still_wanted)) {}

SshChannel::Outcome SshChannel::step() {
  switch (state_) {
    case State::kOpening: return open();
    case State::kStarting: return start();
    case State::kRunning: return pump();
    case State::kClosing: return wait_closed();
    case State::kFreeing: return free();
    case State::kEnded: break;
  }
  return Outcome::kEnded;
}

SshChannel::Outcome SshChannel::judge(long rc) const {
  return rc == LIBSSH2_ERROR_EAGAIN ? Outcome::kWaitForSocket : Outcome::kFailed;
}

SshChannel::Outcome SshChannel::open() {
  channel_ = libssh2_channel_open_session(session_);
  if (channel_ == nullptr) return judge(libssh2_session_last_errno(session_));
  state_ = State::kStarting;
  return Outcome::kAgain;
}

SshChannel::Outcome SshChannel::start() {
  const std::string_view request = command_.subsystem ? "subsystem" : "exec";
  const int rc = libssh2_channel_process_startup(
      channel_, request.data(), static_cast<unsigned>(request.size()), command_.text.data(),
      static_cast<unsigned>(command_.text.size()));
  if (rc != 0) return judge(rc);
  state_ = State::kRunning;
  return Outcome::kAgain;
}

// False: nothing else can be done now; `outcome` says why.
bool SshChannel::send(Outcome& outcome) {
  while (!input_ended_ && (sent_ < in_flight_.size() || !pending_.empty())) {
    if (sent_ == in_flight_.size()) {
      in_flight_ = std::exchange(pending_, {});
      sent_ = 0;
    }
    const ssize_t written =
        libssh2_channel_write(channel_, in_flight_.data() + sent_, in_flight_.size() - sent_);
    // Half a packet is out, or the other side's window is full: then its packets come first.
    sending_ = written == LIBSSH2_ERROR_EAGAIN && waits_to_send(session_);
    if (written == 0 || (written == LIBSSH2_ERROR_EAGAIN && !sending_)) return true;
    if (written < 0) {
      outcome = judge(written);
      return false;
    }
    sent_ += static_cast<std::size_t>(written);
  }
  if (!input_ends_ || input_ended_) return true;
  const int rc = libssh2_channel_send_eof(channel_);
  sending_ = rc == LIBSSH2_ERROR_EAGAIN;
  input_ended_ = rc == 0;
  if (rc != 0) outcome = judge(rc);
  return rc == 0;
}

bool SshChannel::receive(int stream, Outcome& outcome) {
  std::array<char, kReadBytes> buffer;
  while (true) {
    const ssize_t got = libssh2_channel_read_ex(channel_, stream, buffer.data(), buffer.size());
    if (got > 0) {
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
      if (stream == 0) {
        on_output_(bytes);
      } else if (errors_.size() < kErrorHeadBytes) {
        errors_ += bytes.substr(0, kErrorHeadBytes - errors_.size());
      }
      if (still_wanted_()) continue;
      outcome = Outcome::kWaitForSocket;
      return false;
    }
    if (got == 0) return true;
    outcome = judge(got);
    // A half-sent window adjustment must be finished by this very call.
    return got == LIBSSH2_ERROR_EAGAIN && !waits_to_send(session_);
  }
}

SshChannel::Outcome SshChannel::pump() {
  Outcome outcome = Outcome::kWaitForSocket;
  if (!send(outcome) || !receive(0, outcome) || !receive(SSH_EXTENDED_DATA_STDERR, outcome)) {
    return outcome;
  }
  if (libssh2_channel_eof(channel_) == 0) return outcome;
  state_ = State::kClosing;
  return Outcome::kAgain;
}

// The command may have closed its output and still run.
SshChannel::Outcome SshChannel::wait_closed() {
  Outcome outcome = Outcome::kWaitForSocket;
  if (!send(outcome)) {
    if (outcome == Outcome::kWaitForSocket) return outcome;
    input_ended_ = true;  // closing its end has also ended our input
  }
  const int rc = libssh2_channel_wait_closed(channel_);
  if (rc != 0) return judge(rc);
  status_ = read_status(session_, channel_);
  state_ = State::kFreeing;
  return Outcome::kAgain;
}

SshChannel::Outcome SshChannel::free() {
  const int rc = libssh2_channel_free(channel_);
  if (rc == LIBSSH2_ERROR_EAGAIN) return Outcome::kWaitForSocket;
  channel_ = nullptr;
  state_ = State::kEnded;
  return Outcome::kEnded;
}

}  // namespace robustrun::launcher
