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
  LateOrigin(Blob known, std::string shown, OpenOrigin open, bool is_checked)
      : known_(std::move(known)),
        shown_(std::move(shown)),
        open_(std::move(open)),
        is_checked_(is_checked) {}

  [[nodiscard]] const Blob& blob() const override { return known_; }

  base::Result<base::Nanos> read(std::uint64_t offset, std::span<char> bytes) override {
    Origin& origin = *RR_TRY(opened());
    return origin.read(offset, bytes);
  }

 private:
  [[nodiscard]] bool is_the_same(const Blob& found) const {
    return found.key == known_.key || (is_checked_ && found.length == known_.length);
  }

  base::Result<Origin*> opened() {
    const unsigned seen = tries_;
    const std::lock_guard lock(mutex_);
    if (origin_) return origin_.get();
    // Another thread tried meanwhile; its result counts for this call as well.
    if (tries_ != seen && failure_) return std::unexpected(*failure_);
    auto origin = open_();
    if (origin && !is_the_same((*origin)->blob())) {
      origin = base::fail(base::Errc::kConflict,
                          fmt::format("cannot read '{}': it is not the file whose blocks are kept "
                                      "here ({}, now {}); give a new image a new name, or start "
                                      "again",
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
  const bool is_checked_;
  std::atomic<unsigned> tries_{0};
  std::mutex mutex_;  // guards the members below
  std::unique_ptr<Origin> origin_;  // set once
  std::optional<base::Error> failure_;  // error of the last try
};

}  // namespace

std::unique_ptr<Origin> late_origin(Blob known, std::string shown, OpenOrigin open,
                                    bool is_checked) {
  return std::make_unique<LateOrigin>(std::move(known), std::move(shown), std::move(open),
                                      is_checked);
}

}  // namespace robustrun::bootstrap
