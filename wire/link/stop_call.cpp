#include "wire/link/stop_call.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/core/text.h"
#include "wire/link/channel.h"
#include "wire/link/dial.h"
#include "wire/link/stream_channel.h"
#include "wire/messages/limits.h"
#include "wire/tls/context.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using base::fail;

// A call to one endpoint. Its operations all end with `loop`.
class Call {
 public:
  explicit Call(StopRun order) : order_(std::move(order)), deadline_(loop_) {}

  base::Status run(const std::string& endpoint, std::shared_ptr<const TlsContext> context) {
    dial_ = Dial::start(loop_.get_executor(), endpoint, std::move(context), {},
                        [this](base::Result<Dial::Reached> reached) {
                          if (!reached) return finish(std::unexpected(reached.error()));
                          say(*std::move(reached));
                        });
    loop_.run();
    return *result_;
  }

 private:
  void say(Dial::Reached reached) {
    channel_ = open_channel(
        loop_.get_executor(), std::move(reached.connection), Begin::kOneMessage,
        {.on_message = [this](const Message& answer) { on_answer(answer); },
         .on_closed = [this](const base::Error& error) { finish(std::unexpected(error)); },
         .on_drained = nullptr});
    channel_->send(order_);
    deadline_.expires_after(kHandshakeMax);
    deadline_.async_wait([this](boost::system::error_code error) {
      if (!error) finish(fail(Errc::kTimeout, "it did not answer"));
    });
  }

  void on_answer(const Message& answer) {
    if (std::holds_alternative<Bye>(answer)) return finish({});
    const auto* refused = std::get_if<Refused>(&answer);
    finish(fail(Errc::kPermission, refused == nullptr ? "it answered with something else"
                                                      : base::printable(refused->text.substr(
                                                            0, kRefusalTextBytesMax))));
  }

  void finish(base::Status result) {
    if (!result_) result_.emplace(std::move(result));
    loop_.stop();
  }

  boost::asio::io_context loop_{1};
  StopRun order_;
  boost::asio::steady_timer deadline_;
  std::shared_ptr<Dial> dial_;
  std::shared_ptr<Channel> channel_;
  std::optional<base::Status> result_;
};

}  // namespace

base::Status call_to_stop(const Authority& authority, const std::vector<std::string>& endpoints,
                          const StopRun& order) {
  const Identity identity = RR_TRY(authority.issue_supervisor());
  TlsContext made = RR_TRY(TlsContext::client(
      identity, {.run_id = authority.run_id(), .authority_fingerprint = authority.fingerprint()}));
  const auto context = std::make_shared<const TlsContext>(std::move(made));
  base::Status last = fail(Errc::kUnavailable, "no endpoint is known");
  for (const std::string& endpoint : endpoints) {
    last = Call(order).run(endpoint, context);
    if (last) return last;
    last = fail(last.error().code, endpoint + ": " + last.error().what);
    if (last.error().code == Errc::kPermission) break;
  }
  return last;
}

}  // namespace robustrun::wire
