// Requests to the store of the ranks: any bytes become requests within their bounds or an error,
// and the store carries them out. Seeds: tests/fuzz/seeds/store_request

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/store/limits.h"
#include "agent/store/store_keys.h"
#include "agent/store/store_request.h"

using namespace robustrun::agent;

namespace {

void check(const StoreRequest& request) {
  if (request.keys.size() > kStoreKeysPerRequestMax) std::abort();
  for (const std::string_view key : request.keys) {
    if (key.size() > kStoreKeyBytesMax) std::abort();
  }
  for (const std::string_view value : request.values) {
    if (value.size() > kStoreValueBytesMax) std::abort();
  }
}

void carry_out(StoreKeys& keys, const StoreRequest& request, StoreKeys::Client client) {
  const auto& names = request.keys;
  switch (request.query) {
    case StoreQuery::kSet:
      if (keys.set(names[0], request.values[0]) && keys.get(names[0]) != request.values[0]) {
        std::abort();
      }
      break;
    case StoreQuery::kCompareSet:
      static_cast<void>(keys.compare_set(names[0], request.values[0], request.values[1]));
      break;
    case StoreQuery::kAppend: static_cast<void>(keys.append(names[0], request.values[0])); break;
    case StoreQuery::kAdd: static_cast<void>(keys.add(names[0], request.number)); break;
    case StoreQuery::kWait:
      if (const auto ready = keys.wait(client, names); ready && *ready != keys.has_all(names)) {
        std::abort();
      }
      break;
    case StoreQuery::kBarrier:
      static_cast<void>(keys.arrive(client, names[0], request.number));
      break;
    case StoreQuery::kCancelWait: keys.forget_wait(client); break;
    case StoreQuery::kDelete: keys.remove(names[0]); break;
    case StoreQuery::kQueuePush: static_cast<void>(keys.push(names[0], request.values[0])); break;
    case StoreQuery::kQueuePop: static_cast<void>(keys.pop(names[0])); break;
    default: break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  StoreKeys keys([](StoreKeys::Client) {});
  StoreKeys::Client client = 0;
  while (!rest.empty()) {
    const auto parsed = parse_store_request(rest);
    if (!parsed) break;
    if (!parsed->request) {
      if (parsed->bytes <= rest.size()) std::abort();
      break;
    }
    check(*parsed->request);
    carry_out(keys, *parsed->request, client++ % 4);
    rest.remove_prefix(parsed->bytes);
  }
  return 0;
}
