#pragma once
// Runs one short command of this build on many hosts over SSH, and reports each host's output, or
// why it has no answer. Hosts are reached, and get this build pushed, as for agents (launcher.h).
//
// To be used on the loop of its executor. `done` is called for every host, because connecting,
// pushing and the command itself have deadlines.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"
#include "launcher/ssh/launcher.h"

namespace robustrun::launcher {

struct SshErrand {
  std::string arguments;  // of robustrun: fixed words, which a shell splits
  std::string input;      // its standard input
  std::chrono::milliseconds limit{};  // from its start to its end
  std::size_t output_max = 0;         // bytes of standard output that are kept; must not be 0
};

struct SshErrandEnd {
  std::string output;  // cut to SshErrand::output_max
  std::string why;  // why there is no answer; empty: the exit code was 0
};

// At most SshOptions::fanout hosts are being connected to at once.
class SshErrands {
 public:
  // `done` is called once for each host, by its index in `hosts`.
  static std::unique_ptr<SshErrands> start(
      boost::asio::any_io_executor executor, base::BlockingPool& pool, std::vector<Host> hosts,
      SshOptions options, SshErrand errand,
      std::function<void(std::size_t host, const SshErrandEnd& end)> done);
  // Closes all connections; `done` is not called any more.
  virtual ~SshErrands() = default;
};

}  // namespace robustrun::launcher
