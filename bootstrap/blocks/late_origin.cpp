#include "bootstrap/blocks/late_origin.h"

#include <fmt/core.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

namespace robustrun::bootstrap {
namespace {

class LateOrigin final : public Origin {
 public:
  LateOrigin(Blob known, std::string shown, OpenOrigin open)
      : known_(std::move(known)), shown_(std::move(shown)), open_(std::move(open)) {}

  [[nodiscard]] const Blob& blob() const override { return known_; }

  base::Result<base::Nanos> read(std::uint64_t offset, std::span<char> bytes) override {
    Origin& origin = *RR_TRY(opened());
    return origin.read(offset, bytes);
  }

 private:
  base::Result<Origin*> opened() {
    const unsigned seen = tries_;
    const std::lock_guard lock(mutex_);
    if (origin_) return origin_.get();
    // Somebody has tried it while we waited: that counts for us as well.
    if (tries_ != seen && failure_) return std::unexpected(*failure_);
    auto origin = open_();
    if (origin && (*origin)->blob().key != known_.key) {
      origin = base::fail(base::Errc::kConflict,
                          fmt::format("cannot read '{}': it is another file than the one whose "
                                      "blocks are kept here ({}, now {}); put a new image under a "
                                      "new name, or start anew",
                                      shown_, known_.key, (*origin)->blob().key));
    }
    ++tries_;
    failure_.reset();
    if (!origin) {
      failure_ = origin.error();
      return std::unexpected(origin.error());
    }
    origin_ = *std::move(origin);
    return origin_.get();
  }

  const Blob known_;
  const std::string shown_;
  const OpenOrigin open_;
  std::atomic<unsigned> tries_{0};
  std::mutex mutex_;  // of all that follows
  std::unique_ptr<Origin> origin_;  // set once
  std::optional<base::Error> failure_;  // of the last try
};

}  // namespace

std::unique_ptr<Origin> late_origin(Blob known, std::string shown, OpenOrigin open) {
  return std::make_unique<LateOrigin>(std::move(known), std::move(shown), std::move(open));
}

}  // namespace robustrun::bootstrap
