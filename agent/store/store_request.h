#pragma once
// Requests of torch's TCPStore clients, as bytes: torch/csrc/distributed/c10d/TCPStoreBackend.hpp
// (numbers of the queries) and TCPStore.cpp (their fields), PyTorch 2.2 to 2.14. Pure.
//
// A request is one byte, the query, followed by its fields without framing. Numbers are
// little-endian (in torch: in the host's order). A string is a u64 length and its bytes; several
// strings are a u64 count and the strings. The input comes from the network and is not trusted.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::agent {

enum class StoreQuery : std::uint8_t {
  kValidate,    // number: kStoreMagic; the first request of a connection, without an answer
  kSet,         // key, value
  kCompareSet,  // key, expected value, new value
  kGet,         // key
  kAdd,         // key, number
  kCheck,       // keys
  kWait,        // keys
  kKeyCount,
  kDelete,      // key
  kAppend,      // key, value
  kMultiGet,    // keys
  kMultiSet,    // keys, each with its value
  kCancelWait,
  kPing,        // number, which is the answer
  kQueuePush,   // key, value
  kQueuePop,    // key
  kQueueLength,  // key
  kListKeys,
  kBarrier,     // key, number of clients
};

inline constexpr std::uint32_t kStoreMagic = 0x3C85F7CE;

struct StoreRequest {
  StoreQuery query = StoreQuery::kPing;
  // Views into the parsed bytes.
  std::vector<std::string_view> keys{};
  std::vector<std::string_view> values{};
  std::int64_t number = 0;
};

struct StoreParse {
  std::optional<StoreRequest> request{};
  // The length of `request`; without a request: at least this many bytes are needed.
  std::size_t bytes = 0;
};

// Parses the request at the beginning of `bytes`. kProtocol: an unknown query or a wrong magic
// number; kLimit: a length or count above its limit.
base::Result<StoreParse> parse_store_request(std::string_view bytes);

}  // namespace robustrun::agent
