#pragma once
// One way to one host, whatever carries it: a libssh2 session (ssh_session.h) or OpenSSH clients
// (openssh_link.h). Runs one remote command at a time, with its three streams.
//
// On the loop of its executor; handlers are called from the loop, never from inside a call. The
// caller sets deadlines, but for getting connected: that is SshTarget::connect_timeout.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/exit_status.h"

namespace robustrun::launcher {

enum class SshTrouble : std::uint8_t {
  kNone,         // the remote command ended by itself
  kLookUp,       // no such name
  kUnreachable,  // refused, no route, no answer
  kDropped,      // the server hung up before the login (MaxStartups): worth another try
  kHostKey,
  kLogin,
  kUnsuited,     // this way cannot serve the host; another one may
  kLost,         // the connection broke while the command ran
  kOther,
};

// How a command ended, or why it could not run.
struct SshEnd {
  SshTrouble trouble = SshTrouble::kNone;
  base::ExitStatus status;  // with kNone
  std::string what;         // otherwise: the cause, in words
  std::string errors;       // the first kErrorHeadBytes of its standard error
};

struct SshCommand {
  std::string text;        // for the remote login shell; or the name of a subsystem
  bool subsystem = false;
};

class SshLink {
 public:
  struct Handlers {
    std::function<void(std::string_view)> on_output;  // standard output, in pieces
    std::function<void(const SshEnd&)> on_end;        // once, last
  };
  virtual ~SshLink() = default;
  // Connects where needed. The last command must have ended.
  virtual void run(const SshCommand& command, Handlers handlers) = 0;
  // To the command's standard input; may be called right after run(). Bytes that a command which
  // ends does not read are lost.
  virtual void write(std::string bytes) = 0;
  // The end of its standard input, behind what was written.
  virtual void close_input() = 0;
  // Ends the connection for good; a remote command may go on. No handler is called afterwards.
  virtual void close() = 0;
};

}  // namespace robustrun::launcher
