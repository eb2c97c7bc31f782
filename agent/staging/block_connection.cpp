#include "agent/staging/block_connection.h"

#include <fcntl.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

using boost::asio::posix::stream_descriptor;

class BlockConnectionImpl final : public BlockConnection {
 public:
  BlockConnectionImpl(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                      std::uint32_t lane, std::shared_ptr<wire::BulkStream> stream)
      : executor_(executor),
        pool_(pool),
        lane_(lane),
        stream_(std::move(stream)),
        watch_(executor) {}

  base::Status turn(std::move_only_function<void(wire::BulkStream&)> work,
                    std::move_only_function<void()> done) override {
    return pool_.submit(
        lane_, [stream = stream_, work = std::move(work)]() mutable { work(*stream); },
        [self = shared_from_this(), done = std::move(done)]() mutable { done(); });
  }

  void await(std::move_only_function<void()> ready) override {
    if (!stream_->has_input() && watch()) {
      return watch_.async_wait(stream_descriptor::wait_read,
                               [self = shared_from_this(),
                                ready = std::move(ready)](boost::system::error_code error) mutable {
                                 if (!error) ready();
                               });
    }
    boost::asio::post(executor_, std::move(ready));  // the next turn finds out which
  }

  void hang_up() override {
    stream_->hang_up();
    boost::system::error_code ignored;
    watch_.close(ignored);
  }

 private:
  // On a descriptor of our own: a thread may close the stream's.
  bool watch() {
    if (watch_.is_open()) return true;
    base::Fd same(::fcntl(stream_->descriptor(), F_DUPFD_CLOEXEC, 0));
    boost::system::error_code error;
    if (same) watch_.assign(same.get(), error);
    if (!same || error) return false;
    static_cast<void>(same.release());
    return true;
  }

  boost::asio::any_io_executor executor_;
  base::BlockingPool& pool_;
  std::uint32_t lane_;
  std::shared_ptr<wire::BulkStream> stream_;
  stream_descriptor watch_;
};

}  // namespace

std::shared_ptr<BlockConnection> BlockConnection::make(const boost::asio::any_io_executor& executor,
                                                       base::BlockingPool& pool, std::uint32_t lane,
                                                       std::shared_ptr<wire::BulkStream> stream) {
  return std::make_shared<BlockConnectionImpl>(executor, pool, lane, std::move(stream));
}

}  // namespace robustrun::agent
