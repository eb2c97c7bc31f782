#include "launcher/ssh/errand.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "launcher/limits.h"
#include "launcher/ssh/attempt.h"
#include "launcher/ssh/context.h"

namespace robustrun::launcher {
namespace {

using Done = std::function<void(std::size_t host, const SshErrandEnd& end)>;

class Errands final : public SshErrands {
 public:
  Errands(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
          SshOptions options, SshErrand errand, Done done)
      : context_(std::make_shared<SshContext>(executor, pool, std::move(options))),
        errand_(std::move(errand)),
        done_(std::move(done)) {}
  ~Errands() override {
    for (const auto& attempt : attempts_) attempt->abandon();
  }
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  void begin(std::vector<Host> hosts) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      auto host = std::make_shared<SshHost>();
      host->host = std::move(hosts[i]);
      host->lane = kLaneFirst + static_cast<std::uint32_t>(i) % kLanes;
      attempts_.push_back(std::make_shared<SshAttempt>(
          context_, std::move(host),
          SshTask{errand_.arguments, errand_.input, errand_.output_max, errand_.limit},
          [this, i](const AgentEnd& end) { done_(i, {attempts_[i]->answer(), end.why}); }));
    }
    for (const auto& attempt : attempts_) {
      boost::asio::post(context_->executor, [attempt] { attempt->start(); });
    }
  }

 private:
  std::shared_ptr<SshContext> context_;
  const SshErrand errand_;
  const Done done_;
  std::vector<std::shared_ptr<SshAttempt>> attempts_;  // by host
};

}  // namespace

std::unique_ptr<SshErrands> SshErrands::start(boost::asio::any_io_executor executor,
                                              base::BlockingPool& pool, std::vector<Host> hosts,
                                              SshOptions options, SshErrand errand, Done done) {
  auto errands = std::make_unique<Errands>(executor, pool, std::move(options), std::move(errand),
                                           std::move(done));
  errands->begin(std::move(hosts));
  return errands;
}

}  // namespace robustrun::launcher
