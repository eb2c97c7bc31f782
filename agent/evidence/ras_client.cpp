// Makes one attempt after another; within an attempt, asks one question at a time:
//     CLIENT PROTOCOL 2   SERVER PROTOCOL 2
//     TIMEOUT s           OK
//     SET FORMAT json     OK, or ERROR: … from a version that is too old
//     VERBOSE STATUS      the report, then the end of the connection
// Until the report is asked for, each answer has to come within kRasAnswerMax.

#include "agent/evidence/ras_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "agent/node/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::Errc;
using boost::system::error_code;

class Asking final : public RasClient, public std::enable_shared_from_this<Asking> {
 public:
  Asking(const asio::any_io_executor& executor, std::chrono::milliseconds within, Done done)
      : socket_(executor),
        answer_by_(executor),
        deadline_(executor),
        within_(within),
        done_(std::move(done)),
        last_(base::Error{Errc::kTimeout, 0,
                          fmt::format("no answer within {} ms", within.count())}) {}

  void begin(const std::string& address, std::uint16_t port) {
    error_code error;
    endpoint_ = {asio::ip::make_address(address, error), port};
    if (error) {
      return asio::post(deadline_.get_executor(), [self = shared_from_this(), address] {
        self->finish(base::fail(Errc::kInvalidArgument,
                                "'" + base::printable(address) + "' is not a numeric address"));
      });
    }
    deadline_.expires_after(within_);
    deadline_.async_wait([self = shared_from_this()](error_code timer_error) {
      if (!timer_error) self->finish(std::unexpected(self->last_));
    });
    attempt();
  }

  void drop() override {
    done_ = nullptr;
    deadline_.cancel();
    answer_by_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  enum class Step : std::uint8_t { kHello, kTimeout, kFormat, kReport };

  // Handlers of an attempt that was given up find another number.
  template <class Handler>
  auto of_this_attempt(Handler handler) {
    return [self = shared_from_this(), attempt = attempt_, handler](error_code error,
                                                                    std::size_t size = 0) {
      if (self->done_ && attempt == self->attempt_) handler(*self, error, size);
    };
  }

  void attempt() {
    ++attempt_;
    error_code ignored;
    socket_.close(ignored);
    input_.clear();
    step_ = Step::kHello;
    expect_answer();
    socket_.async_connect(endpoint_,
                          [then = of_this_attempt([](Asking& self, error_code error, std::size_t) {
                             if (error) return self.give_up(error);
                             self.ask("CLIENT PROTOCOL 2\n");
                           })](error_code error) { then(error); });
  }

  void expect_answer() {
    answer_by_.expires_after(kRasAnswerMax);
    answer_by_.async_wait([then = of_this_attempt([](Asking& self, error_code error, std::size_t) {
                             if (!error) self.attempt();
                           })](error_code error) { then(error); });
  }

  // Tries again after a moment: another process of the port may answer.
  void give_up(error_code error) {
    const bool is_refused = error == asio::error::connection_refused;
    last_ = {Errc::kUnavailable, error.value(),
             is_refused ? "nothing listens there" : "the connection broke: " + error.message()};
    pause();
  }

  void give_up(base::Error error) {
    last_ = std::move(error);
    pause();
  }

  void pause() {
    ++attempt_;
    error_code ignored;
    socket_.close(ignored);
    answer_by_.expires_after(kRasPause);
    answer_by_.async_wait([then = of_this_attempt([](Asking& self, error_code error, std::size_t) {
                             if (!error) self.attempt();
                           })](error_code error) { then(error); });
  }

  void ask(std::string line) {
    output_ = std::move(line);
    expect_answer();
    asio::async_write(socket_, asio::buffer(output_),
                      of_this_attempt([](Asking& self, error_code error, std::size_t) {
                        if (error) return self.give_up(error);
                        self.step_ == Step::kReport ? self.read_report() : self.read_line();
                      }));
  }

  void read_line() {
    asio::async_read_until(socket_, asio::dynamic_buffer(input_, kRasLineMax), '\n',
                           of_this_attempt([](Asking& self, error_code error, std::size_t size) {
                             if (error == asio::error::not_found) return self.refuse();
                             if (error) return self.give_up(error);
                             const std::string line(base::trim(self.input_.substr(0, size)));
                             self.input_.erase(0, size);
                             self.answered(line);
                           }));
  }

  void answered(const std::string& line) {
    const bool is_error = line.starts_with("ERROR");
    switch (step_) {
      case Step::kHello: {
        if (!line.starts_with("SERVER PROTOCOL")) return refuse();
        step_ = Step::kTimeout;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(within_).count();
        return ask(fmt::format("TIMEOUT {}\n", std::max<std::int64_t>(1, seconds)));
      }
      case Step::kTimeout:
        if (line != "OK" && !is_error) return refuse();
        step_ = Step::kFormat;
        return ask("SET FORMAT json\n");
      case Step::kFormat:
        if (line != "OK" && !is_error) return refuse();
        step_ = Step::kReport;
        return ask("VERBOSE STATUS\n");
      case Step::kReport: break;
    }
  }

  void refuse() { give_up({Errc::kProtocol, 0, "the answer there is not from NCCL's RAS"}); }

  // From now on only the deadline counts: NCCL collects from the whole job.
  void read_report() {
    answer_by_.cancel();
    const std::size_t had = input_.size();
    input_.resize(std::min(had + kRasPieceBytes, kRasReportBytesMax + 1));
    socket_.async_read_some(
        asio::buffer(input_.data() + had, input_.size() - had),
        of_this_attempt([had](Asking& self, error_code error, std::size_t size) {
          self.input_.resize(had + size);
          if (error == asio::error::eof && self.input_.starts_with("ERROR")) return self.refuse();
          if (error == asio::error::eof && !self.input_.empty()) {
            return self.finish(std::move(self.input_));
          }
          if (error) return self.give_up(error);
          if (self.input_.size() > kRasReportBytesMax) {
            return self.finish(
                base::fail(Errc::kLimit,
                           fmt::format("its answer has more than {} bytes", kRasReportBytesMax)));
          }
          self.read_report();
        }));
  }

  void finish(base::Result<std::string> result) {
    const Done done = std::exchange(done_, nullptr);
    drop();
    if (!done) return;
    if (!result) result.error().what = "cannot ask NCCL's RAS: " + result.error().what;
    done(std::move(result));
  }

  tcp::socket socket_;
  asio::steady_timer answer_by_;
  asio::steady_timer deadline_;
  std::chrono::milliseconds within_;
  Done done_;
  base::Error last_;  // why the previous attempt failed
  tcp::endpoint endpoint_;
  Step step_ = Step::kHello;
  std::uint64_t attempt_ = 0;
  std::string output_, input_;
};

}  // namespace

std::shared_ptr<RasClient> RasClient::ask(asio::any_io_executor executor,
                                          const std::string& address, std::uint16_t port,
                                          std::chrono::milliseconds within, Done done) {
  auto asking = std::make_shared<Asking>(executor, within, std::move(done));
  asking->begin(address, port);
  return asking;
}

}  // namespace robustrun::agent
