#pragma once
// A question to a program that may hang (an interpreter on a dead mount, a GPU library): run below
// a shim, so that nothing of it outlives the answer, the deadline or this agent.
//
// On the loop of its executor, in a process that is a subreaper (shim_link.h). Owned by the asker:
// once it is dropped, `done` is not called any more and the program is killed.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/node/limits.h"
#include "base/core/result.h"

namespace robustrun::agent {

struct Question {
  std::string shim;                       // absolute path of robustrun-shim
  std::vector<std::string> argv;          // the program's
  std::vector<std::string> environment;   // NAME=VALUE, complete
  std::string working_directory;
  std::chrono::milliseconds within{};     // 0: as long as it likes
  std::size_t answer_max = kAnswerBytesMax;  // the rest is read and dropped
  bool any_end = false;  // what it wrote is the answer, with whatever code it ended
  pid_t container = 0;   // whose namespaces it enters; 0: none
  // Gets what it writes as it comes, from the loop; may drop the program. Only the last piece is
  // kept then.
  std::function<void(std::string_view)> on_text{};
};

class AskedProgram {
 public:
  // What it wrote to its standard output (at most `answer_max` of it) when it ended with 0.
  // kTimeout: no end within the time, with its last line if there is one; kNotFound, or another
  // error with errno: it could not be started; kUnavailable: it ended otherwise, with its last
  // line.
  using Done = std::function<void(base::Result<std::string>)>;

  // `done` comes from the loop, also when starting fails.
  static std::unique_ptr<AskedProgram> ask(boost::asio::any_io_executor executor, Question question,
                                           Done done);
  virtual ~AskedProgram() = default;
};

}  // namespace robustrun::agent
