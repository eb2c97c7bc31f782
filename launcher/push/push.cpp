#include "launcher/push/push.h"

#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

#include "launcher/limits.h"
#include "launcher/openssh/words.h"
#include "launcher/push/commands.h"
#include "launcher/push/sftp.h"

namespace robustrun::launcher {
namespace {

class Push final : public SshPush, public std::enable_shared_from_this<Push> {
 public:
  Push(const boost::asio::any_io_executor& executor, Order order,
       std::function<void(const SshEnd&)> done)
      : order_(std::move(order)),
        done_(std::move(done)),
        upload_(std::string(kCacheFolder) + "/" + order_.folder, order_.bundle),
        stall_(executor) {}

  void upload() {
    run(
        {"sftp", true},
        [](Push& push, std::string_view bytes) {
          if (push.failure_) return;
          std::string out;
          if (const base::Status fed = push.upload_.feed(bytes, out); !fed) {
            push.failure_ = fed.error().what;
          } else if (!out.empty()) {
            push.order_.link->write(std::move(out));
          }
          // The server ends when its input ends.
          if (push.failure_ || push.upload_.done()) push.order_.link->close_input();
        },
        [](Push& push, const SshEnd& end) {
          if (push.failure_) return push.give_up(*push.failure_, {});
          if (push.upload_.done()) return push.publish();
          push.give_up("the SFTP server ended early", end);
        });
    order_.link->write(upload_.start());
  }

  void cancel() override {
    done_ = nullptr;
    stall_.cancel();
    order_.link->close();
  }

 private:
  void publish() {
    run({publish_command(*order_.bundle, order_.folder, order_.replace), false}, nullptr,
        [](Push& push, const SshEnd& end) {
          if (end.trouble == SshTrouble::kNone && !end.status.success()) {
            return push.give_up("what arrived there is not what was sent", end);
          }
          push.finish(end);
        });
  }

  // Removes what was uploaded; failure to do so is ignored.
  void give_up(const std::string& why, SshEnd end) {
    if (end.trouble == SshTrouble::kNone) {
      const std::string words = first_words(end.errors);
      end.trouble = SshTrouble::kOther;
      end.what = why + (words.empty() ? "" : " (" + words + ")");
    }
    run({remove_command(order_.folder), false}, nullptr,
        [end](Push& push, const SshEnd&) { push.finish(end); });
  }

  void run(const SshCommand& command, std::function<void(Push&, std::string_view)> on_output,
           std::function<void(Push&, const SshEnd&)> on_end) {
    watch_for_stall();
    const auto weak = weak_from_this();
    order_.link->run(command, {.on_output =
                                   [weak, on_output](std::string_view bytes) {
                                     const auto self = weak.lock();
                                     if (!self || !self->done_) return;
                                     self->watch_for_stall();
                                     if (on_output) on_output(*self, bytes);
                                   },
                               .on_end =
                                   [weak, on_end](const SshEnd& end) {
                                     const auto self = weak.lock();
                                     if (self && self->done_) on_end(*self, end);
                                   }});
  }

  void watch_for_stall() {
    stall_.expires_after(kPushStallMax);
    stall_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (error || !self || !self->done_) return;
      SshEnd end;
      end.trouble = SshTrouble::kLost;
      end.what = "no answer for " + std::to_string(kPushStallMax.count()) + " s";
      self->order_.link->close();
      self->finish(end);
    });
  }

  void finish(const SshEnd& end) {
    stall_.cancel();
    const auto done = std::exchange(done_, nullptr);
    if (done) done(end);
  }

  Order order_;
  std::function<void(const SshEnd&)> done_;
  SftpUpload upload_;
  std::optional<std::string> failure_;  // of the upload
  boost::asio::steady_timer stall_;
};

}  // namespace

std::shared_ptr<SshPush> SshPush::start(boost::asio::any_io_executor executor, Order order,
                                        std::function<void(const SshEnd&)> done) {
  auto push = std::make_shared<Push>(executor, std::move(order), std::move(done));
  push->upload();
  return push;
}

}  // namespace robustrun::launcher
