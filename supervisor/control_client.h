#pragma once
// The other end of control_server.h, for the command line: blocking, one request at a time.

#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "supervisor/control_json.h"

namespace robustrun::supervisor {

class ControlClient {
 public:
  // kNotFound when nobody listens: the run has ended, or its supervisor is dead or elsewhere.
  // kPermission when somebody else's process does.
  static base::Result<ControlClient> connect(const std::string& run_directory);

  // The answer's fields; a refusal is kInvalidArgument with its text, the supervisor's end
  // kUnavailable, no answer for kControlAnswerMax kTimeout (the client is of no use then).
  base::Result<ControlFields> ask(const ControlFields& request);
  // Returns after `time`, or false as soon as the supervisor is gone.
  bool wait(base::Nanos time);

 private:
  explicit ControlClient(base::Fd fd) : fd_(std::move(fd)) {}
  base::Result<std::string> read_answer(base::Nanos until);
  base::Fd fd_;
};

}  // namespace robustrun::supervisor
