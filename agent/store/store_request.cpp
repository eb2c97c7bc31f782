#include "agent/store/store_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "agent/store/limits.h"

namespace robustrun::agent {
namespace {

using base::Errc;

// Reads fields one after the other, until bytes are missing or a limit is passed.
class RequestFields {
 public:
  explicit RequestFields(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    const std::string_view bytes = take(sizeof(T));
    T value{};
    if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::string_view string(std::size_t max, std::string_view what) {
    const auto length = number<std::uint64_t>();
    if (length > max) {
      fail(fmt::format("a {} of {} bytes: at most {} are allowed", what, length, max));
      return {};
    }
    return take(length);
  }

  void key(StoreRequest& request) { request.keys.push_back(string(kStoreKeyBytesMax, "key")); }
  void value(StoreRequest& request) {
    request.values.push_back(string(kStoreValueBytesMax, "value"));
  }

  void keys(StoreRequest& request, bool with_values) {
    const auto count = number<std::uint64_t>();
    if (count > kStoreKeysPerRequestMax) {
      return fail(fmt::format("{} keys: at most {} are allowed", count, kStoreKeysPerRequestMax));
    }
    for (std::uint64_t i = 0; i < count && is_complete(); ++i) {
      key(request);
      if (with_values) value(request);
      if (end_ > kStoreRequestBytesMax) {
        return fail(fmt::format("more than {} bytes of keys and values", kStoreRequestBytesMax));
      }
    }
  }

  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  [[nodiscard]] bool is_complete() const { return error_.empty() && end_ <= bytes_.size(); }
  [[nodiscard]] const std::string& error() const { return error_; }
  // Where the field that was read last ends.
  [[nodiscard]] std::size_t end() const { return end_; }

 private:
  std::string_view take(std::size_t size) {
    if (!is_complete()) return {};
    const std::size_t begin = end_;
    end_ += size;
    return end_ <= bytes_.size() ? bytes_.substr(begin, size) : std::string_view();
  }

  std::string_view bytes_;
  std::size_t end_ = 0;
  std::string error_;
};

}  // namespace

base::Result<StoreParse> parse_store_request(std::string_view bytes) {
  RequestFields fields(bytes);
  StoreRequest request;
  const auto code = fields.number<std::uint8_t>();
  request.query = static_cast<StoreQuery>(code);
  switch (request.query) {
    case StoreQuery::kValidate:
      request.number = fields.number<std::uint32_t>();
      if (fields.is_complete() && request.number != kStoreMagic) {
        return base::fail(Errc::kProtocol,
                          fmt::format("the magic number {:#010x} instead of {:#010x}",
                                      request.number, kStoreMagic));
      }
      break;
    case StoreQuery::kSet:
    case StoreQuery::kAppend:
    case StoreQuery::kQueuePush:
      fields.key(request);
      fields.value(request);
      break;
    case StoreQuery::kCompareSet:
      fields.key(request);
      fields.value(request);
      fields.value(request);
      break;
    case StoreQuery::kGet:
    case StoreQuery::kDelete:
    case StoreQuery::kQueuePop:
    case StoreQuery::kQueueLength: fields.key(request); break;
    case StoreQuery::kAdd:
    case StoreQuery::kBarrier:
      fields.key(request);
      request.number = fields.number<std::int64_t>();
      break;
    case StoreQuery::kCheck:
    case StoreQuery::kWait:
    case StoreQuery::kMultiGet: fields.keys(request, false); break;
    case StoreQuery::kMultiSet: fields.keys(request, true); break;
    case StoreQuery::kPing: request.number = fields.number<std::uint32_t>(); break;
    case StoreQuery::kKeyCount:
    case StoreQuery::kCancelWait:
    case StoreQuery::kListKeys: break;
    default: return base::fail(Errc::kProtocol, fmt::format("query {}, which is unknown", code));
  }
  if (!fields.error().empty()) return base::fail(Errc::kLimit, fields.error());
  StoreParse parse{{}, fields.end()};
  if (fields.is_complete()) parse.request = std::move(request);
  return parse;
}

}  // namespace robustrun::agent
