#include "agent/stdin_watch.h"

#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

namespace robustrun::agent {
namespace {

class StdinWatchImpl final : public StdinWatch {
 public:
  StdinWatchImpl(const boost::asio::any_io_executor& executor, std::function<void()> on_end)
      : stdin_(executor), on_end_(std::move(on_end)) {
    boost::system::error_code error;
    stdin_.assign(::dup(STDIN_FILENO), error);
    if (!error) stdin_.non_blocking(true, error);
    if (!error) wait();
  }

 private:
  void wait() {
    stdin_.async_read_some(boost::asio::buffer(ignored_),
                           [this](const boost::system::error_code& error, std::size_t) {
                             if (error == boost::asio::error::operation_aborted) return;
                             error ? on_end_() : wait();
                           });
  }

  boost::asio::posix::stream_descriptor stdin_;
  std::function<void()> on_end_;
  std::array<char, 64> ignored_{};
};

}  // namespace

std::unique_ptr<StdinWatch> StdinWatch::start(boost::asio::any_io_executor executor,
                                              std::function<void()> on_end) {
  return std::make_unique<StdinWatchImpl>(executor, std::move(on_end));
}

}  // namespace robustrun::agent
