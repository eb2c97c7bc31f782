#pragma once
// One remote command on a logged-in libssh2 session: opens a channel, starts the command, moves its
// streams, and learns how it ended.
//
// Driven by its session: step() does what can be done now. For this room's libssh2 code only.

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/ssh_link.h"

struct _LIBSSH2_SESSION;
struct _LIBSSH2_CHANNEL;

namespace robustrun::launcher {

class SshChannel {
 public:
  // What the caller of step() does next. kAgain: calls it again now. kWaitForSocket: calls it again
  // when the socket is ready. kEnded: reads status(). kFailed: asks libssh2 for the error.
  enum class Outcome : std::uint8_t { kAgain, kWaitForSocket, kEnded, kFailed };

  // `still_wanted` is called after each piece of output. If it returns false, step() returns at
  // once: the reader has closed the link.
  SshChannel(_LIBSSH2_SESSION* session, SshCommand command,
             std::function<void(std::string_view)> on_output, std::function<bool()> still_wanted);
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;
  ~SshChannel() = default;  // libssh2 frees its channels with the session

  Outcome step();
  void write(std::string bytes) { pending_ += bytes; }
  void close_input() { input_ends_ = true; }
  // No part of the input is half-sent, so a keepalive may be sent on the session.
  [[nodiscard]] bool at_rest() const { return !sending_; }
  [[nodiscard]] const base::ExitStatus& status() const { return status_; }  // after kEnded
  // The first kErrorHeadBytes of the command's standard error.
  [[nodiscard]] const std::string& errors() const { return errors_; }

 private:
  enum class State : std::uint8_t { kOpening, kStarting, kRunning, kClosing, kFreeing, kEnded };
  Outcome open();
  Outcome start();
  Outcome pump();
  Outcome wait_closed();
  Outcome free();
  [[nodiscard]] bool send(Outcome& outcome);
  [[nodiscard]] bool receive(int stream, Outcome& outcome);
  [[nodiscard]] Outcome judge(long rc) const;

  _LIBSSH2_SESSION* session_;
  _LIBSSH2_CHANNEL* channel_ = nullptr;
  SshCommand command_;
  std::function<void(std::string_view)> on_output_;
  std::function<bool()> still_wanted_;
  State state_ = State::kOpening;
  std::string pending_;  // to be written
  std::string in_flight_;  // passed to libssh2, which must be given the same bytes again
  std::size_t sent_ = 0;  // of in_flight_
  bool sending_ = false;
  bool input_ends_ = false;
  bool input_ended_ = false;
  std::string errors_;
  base::ExitStatus status_;
};

}  // namespace robustrun::launcher
