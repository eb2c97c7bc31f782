#include "agent/image/container.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "agent/image/limits.h"
#include "agent/process/ask_program.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

class HeldContainer final : public Container {
 public:
  HeldContainer(NodeContext& node, std::vector<std::string> argv, Done done)
      : done_(std::move(done)), patience_(node.executor) {
    Question question;
    question.shim = node.shim;
    question.argv = std::move(argv);
    question.environment = node.workers.environment;
    question.on_text = [this](std::string_view text) { on_text(text); };
    holder_ = AskedProgram::ask(node.executor, std::move(question),
                                [this](base::Result<std::string> end) { on_end(std::move(end)); });
    patience_.expires_after(kContainerReadyMax);
    patience_.async_wait([this](const boost::system::error_code& error) {
      if (error || pid_ != 0) return;
      report(base::fail(base::Errc::kTimeout,
                        fmt::format("cannot make a container: bwrap was not ready within {} s{}",
                                    kContainerReadyMax.count(), last_output())));
    });
  }

 private:
  // The holder writes its pid as a line of its own. Other lines are bubblewrap's errors.
  void on_text(std::string_view text) {
    if (pid_ != 0) return;
    words_.append(
        text.substr(0, kImageServerWordsMax - std::min(words_.size(), kImageServerWordsMax)));
    const std::string_view line = base::trim(words_);
    const auto pid = base::parse_int<pid_t>(line);
    if (!words_.ends_with('\n') || !pid || *pid <= 1) return;
    pid_ = *pid;
    patience_.cancel();
    report(pid_);
  }

  void on_end(base::Result<std::string> end) {
    patience_.cancel();
    const std::string why = end ? std::string("it ended") : end.error().what;
    report(base::fail(base::Errc::kUnavailable, fmt::format("cannot {} a container: bwrap: {}",
                                                            pid_ == 0 ? "make" : "keep", why)));
  }

  [[nodiscard]] std::string last_output() const {
    return words_.empty() ? "" : ": " + base::printable(base::trim(words_));
  }

  // A copy, because the handler may destroy this object.
  void report(base::Result<pid_t> result) {
    const Done done = done_;
    done(std::move(result));
  }

  Done done_;
  boost::asio::steady_timer patience_;
  std::unique_ptr<AskedProgram> holder_;
  std::string words_;
  pid_t pid_ = 0;
};

}  // namespace

std::unique_ptr<Container> Container::make(NodeContext& node, std::vector<std::string> argv,
                                           Done done) {
  return std::make_unique<HeldContainer>(node, std::move(argv), std::move(done));
}

}  // namespace robustrun::agent
